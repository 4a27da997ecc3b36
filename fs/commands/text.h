// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace ctxfs {

/// "1.5 GiB", "17 B".
std::string HumanSize(uint64_t bytes);

/// A name as it is, or for a terminal with '?' for its control characters.
std::string ShownName(std::string_view name);

/// On one line; bytes that are no text are replaced.
std::string CompactJson(const Json& json);

}  // namespace ctxfs
