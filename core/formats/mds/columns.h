// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/content/content.h"
#include "core/formats/mds/shards.h"

namespace ctxfs::mds {

/// The content of a column of kind kJoined: its values in all shards.
Content JoinedContent(const std::shared_ptr<const Shards>& shards,
                      uint32_t column);

/// Returns the extension, with a dot, that the first values of a column decide
/// (docs/formats/mds.md, section 4); ".bin" if they decide none. Fails only on
/// transient errors.
Result<std::string> FindSuffix(const Shards& shards, uint32_t column,
                               const ReadContext& context);

}  // namespace ctxfs::mds
