// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs::gguf {

// The code books of docs/formats/gguf.md, section 6. Byte i of an entry is
// value i; the lowest byte is byte 0.

extern const uint64_t* const kIq2XxsGrid;  // 256 entries
extern const uint64_t* const kIq2XsGrid;   // 512
extern const uint64_t* const kIq2SGrid;    // 1024
extern const uint32_t* const kIq3XxsGrid;  // 256
extern const uint32_t* const kIq3SGrid;    // 512
/// 2048 entries. Their bytes are signed, and eight times the values.
extern const uint64_t* const kIq1SGrid;

}  // namespace ctxfs::gguf
