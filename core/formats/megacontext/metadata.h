// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/megacontext/level.h"

namespace ctxfs {

/// Where levels disagree with one another (docs/megacontext.md, section 3).
std::vector<std::string> CompareLevels(const std::vector<ContextLevel>& levels);

/// Where metadata.json disagrees with headers and sizes, which win
/// (docs/megacontext.md, section 4). `text` is nothing when there is none.
std::vector<std::string> CompareMetadata(
    const std::optional<std::string>& text,
    const std::vector<ContextLevel>& levels);

}  // namespace ctxfs
