// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text/human_size.h"

namespace ctxfs {

/// HumanSize without a space and unit, as ls -h and sort -h have it: "1.5G",
/// "17".
std::string ShortSize(uint64_t bytes);

/// Returns `text` with a backslash and a letter, or another backslash, for each
/// backslash and for those of newline, carriage return and tab that are in
/// `controls`.
std::string Escaped(std::string_view text, std::string_view controls);

}  // namespace ctxfs
