// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/bytes.h"

namespace ctxfs {

/// Reads bits, the most significant of each byte first, as in bzip2.
class Bits {
 public:
  Bits(Bytes bytes, uint64_t first_bit) : bytes_(bytes), at_(first_bit) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() * CHAR_BIT - at_; }

  /// Takes the next `count` bits; `count` must be at most 56 and at most
  /// left().
  uint64_t Take(unsigned count) {
    uint64_t value = 0;
    while (count > 0) {
      const auto within = static_cast<unsigned>(at_ % CHAR_BIT);
      const unsigned some = std::min(count, CHAR_BIT - within);
      const auto byte = std::to_integer<unsigned>(
          bytes_[static_cast<size_t>(at_ / CHAR_BIT)]);
      value = value << some |
              ((byte >> (CHAR_BIT - within - some)) & ((1U << some) - 1));
      at_ += some;
      count -= some;
    }
    return value;
  }

 private:
  const Bytes bytes_;
  uint64_t at_;
};

/// Writes bits, the most significant of each byte first.
class BitWriter {
 public:
  void Put(uint64_t value, unsigned count) {
    while (count > 0) {
      --count;
      pending_ = pending_ << 1 | static_cast<unsigned>(value >> count & 1);
      if (++pending_bits_ == CHAR_BIT) Flush();
    }
  }
  /// Copies the bits [from, to) of `bytes`. The bits written before must fill
  /// whole bytes.
  void Copy(Bytes bytes, uint64_t from, uint64_t to) {
    const auto shift = static_cast<unsigned>(from % CHAR_BIT);
    const auto first = static_cast<size_t>(from / CHAR_BIT);
    const auto whole = static_cast<size_t>((to - from) / CHAR_BIT);
    out_.reserve(out_.size() + whole + kRoom);
    for (size_t i = first; i < first + whole; ++i) {
      const std::byte next =
          shift == 0 ? std::byte{0} : bytes[i + 1] >> (CHAR_BIT - shift);
      out_.push_back(bytes[i] << shift | next);
    }
    Bits rest(bytes, from + whole * CHAR_BIT);
    while (rest.at() < to) Put(rest.Take(1), 1);
  }
  /// Returns the bytes; pads the last one with zero bits.
  std::vector<std::byte> Finish() {
    while (pending_bits_ > 0) Put(0, 1);
    return std::move(out_);
  }

 private:
  static constexpr size_t kRoom = 16;

  void Flush() {
    out_.push_back(static_cast<std::byte>(pending_));
    pending_ = 0;
    pending_bits_ = 0;
  }

  std::vector<std::byte> out_;
  unsigned pending_ = 0;
  unsigned pending_bits_ = 0;
};

}  // namespace ctxfs
