// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs {

/// "1.5 GiB", "17 B".
std::string HumanSize(uint64_t bytes);

}  // namespace ctxfs
