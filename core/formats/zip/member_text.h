// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json/json.h"
#include "core/content/read_context.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {

/// Returns the verified bytes of a member; empty if it is damaged or exceeds
/// `most` bytes. Fails only on transient errors.
Result<std::string> MemberText(const Archive& archive, uint32_t member,
                               uint64_t most, const ReadContext& context);

/// Returns the member's JSON; null if it is not JSON.
Result<Json> MemberJson(const Archive& archive, uint32_t member, uint64_t most,
                        const ReadContext& context);

}  // namespace ctxfs::zip
