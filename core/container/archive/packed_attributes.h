// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace ctxfs {

/// StoredAttributes in 8 bytes, for archives of millions of members: a time in
/// whole seconds, and permission bits.
class PackedAttributes {
 public:
  /// Seconds since 1970. Times of 71 million years and more are dropped.
  /// `local`: the time is in an unknown time zone.
  void SetMtime(int64_t seconds, bool local = false) {
    constexpr int64_t kEnd = int64_t{1} << (63 - kSecondsAt);
    if (seconds >= kEnd || seconds < -kEnd) return;
    bits_ &= kModeBits | kHasMode;
    bits_ |= static_cast<uint64_t>(seconds) << kSecondsAt | kHasMtime;
    if (local) bits_ |= kIsLocal;
  }
  void SetMode(uint64_t mode) {
    bits_ &= ~kModeBits;
    bits_ |= (mode & kModeBits) | kHasMode;
  }

  std::optional<int64_t> mtime() const {
    if ((bits_ & kHasMtime) == 0) return std::nullopt;
    return static_cast<int64_t>(bits_) >> kSecondsAt;
  }
  bool is_local() const { return (bits_ & kIsLocal) != 0; }
  std::optional<uint16_t> mode() const {
    if ((bits_ & kHasMode) == 0) return std::nullopt;
    return static_cast<uint16_t>(bits_ & kModeBits);
  }

 private:
  static constexpr uint64_t kModeBits = 0777;
  static constexpr uint64_t kHasMode = 1U << 9;
  static constexpr uint64_t kHasMtime = 1U << 10;
  static constexpr uint64_t kIsLocal = 1U << 11;
  static constexpr unsigned kSecondsAt = 12;

  uint64_t bits_ = 0;
};

}  // namespace ctxfs
