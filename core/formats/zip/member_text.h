// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json/json.h"
#include "core/content/read_context.h"
#include "core/formats/zip/zip.h"

namespace ctxfs::zip {

/// The bytes of a member, verified; nothing if it is damaged or has more than
/// `most`. Fails only for transient reasons.
Result<std::string> MemberText(const Archive& archive, uint32_t member,
                               uint64_t most, const ReadContext& context);

/// The JSON in it; null if it has none.
Result<Json> MemberJson(const Archive& archive, uint32_t member, uint64_t most,
                        const ReadContext& context);

}  // namespace ctxfs::zip
