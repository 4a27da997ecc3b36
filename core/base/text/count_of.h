// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs {

/// The form of `noun` after `count`: "file" for 1, else "files", "entries".
std::string NounOf(uint64_t count, std::string noun);

/// "1 file", "0 files", "1234 entries".
std::string CountOf(uint64_t count, std::string noun);

}  // namespace ctxfs
