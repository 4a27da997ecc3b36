// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/formats/megacontext/level.h"

namespace ctxfs::megacontext {

/// Returns warnings about levels that contradict each other
/// (docs/formats/megacontext.md, section 3).
std::vector<std::string> CompareLevels(const std::vector<ContextLevel>& levels);

/// Returns warnings where metadata.json contradicts headers and sizes, which
/// take precedence (section 4). `text`: nullopt if the file does not exist.
std::vector<std::string> CompareMetadata(
    const std::optional<std::string>& text,
    const std::vector<ContextLevel>& levels, const Request& request);

}  // namespace ctxfs::megacontext
