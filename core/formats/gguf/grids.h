// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ctxfs::gguf {

// Code books of docs/formats/gguf.md, section 6. In an entry, byte i, counted
// from the lowest, is value i.

extern const uint64_t* const kIq2XxsGrid;  // 256 entries
extern const uint64_t* const kIq2XsGrid;   // 512
extern const uint64_t* const kIq2SGrid;    // 1024
extern const uint32_t* const kIq3XxsGrid;  // 256
extern const uint32_t* const kIq3SGrid;    // 512
/// 2048 entries; each byte is signed, and eight times the value.
extern const uint64_t* const kIq1SGrid;

}  // namespace ctxfs::gguf
