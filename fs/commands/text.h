// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace ctxfs {

/// "1.5 GiB", "17 B".
std::string HumanSize(uint64_t bytes);

/// Returns a name for standard output: unchanged, or on a terminal with '?' for
/// control characters.
std::string ShownName(std::string_view name);

/// Returns JSON on one line. Bytes that are not UTF-8 become U+FFFD.
std::string CompactJson(const Json& json);

}  // namespace ctxfs
