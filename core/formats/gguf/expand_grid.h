// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace ctxfs::gguf {

/// A code book of grids.h, expanded from its `codes`. A code consists of groups
/// of bits, lowest first. Group i is the index in `values` of byte i of the
/// entry. The size of `values` determines the width of a group.
template <typename Entry, size_t kCount, size_t kValues>
constexpr std::array<Entry, kCount> ExpandGrid(
    const std::array<uint16_t, kCount>& codes,
    const std::array<uint8_t, kValues>& values) {
  static_assert(std::has_single_bit(kValues));
  constexpr unsigned kBits = std::countr_zero(kValues);
  std::array<Entry, kCount> grid{};
  for (size_t entry = 0; entry < kCount; ++entry) {
    for (unsigned i = 0; i < sizeof(Entry); ++i) {
      const Entry value = values[codes[entry] >> (kBits * i) & (kValues - 1)];
      grid[entry] |= value << (8 * i);
    }
  }
  return grid;
}

}  // namespace ctxfs::gguf
