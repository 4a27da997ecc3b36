// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/bytes.h"

namespace ctxfs {

/// The origin of the bytes of a result.
enum class Origin : uint8_t {
  kMemory,     // decoded, computed or rendered, now or earlier
  kDisk,       // decoded to a temporary file (SpillStore)
  kContainer,  // stored uncompressed
};
inline constexpr size_t kOrigins = 3;

/// The result of one read: slices in file order, valid until the Window is
/// cleared or reused. Slices of cached blocks and literals are not copied; the
/// Window keeps their memory alive.
class Window {
 public:
  const std::vector<Bytes>& slices() const { return slices_; }

  void Clear() {
    slices_.clear();
    pins_.clear();
    used_ = 0;
    bytes_.fill(0);
  }

  /// Reserves `size` bytes of scratch in total. Must be called after Clear()
  /// and before the first AppendScratch.
  void Reserve(size_t size) {
    if (scratch_.size() < size) scratch_ = Buffer(size);
  }

  /// Appends `size` bytes of the reserved scratch for the caller to fill.
  MutableBytes AppendScratch(size_t size, Origin origin) {
    const MutableBytes space = scratch_.span().subspan(used_, size);
    used_ += size;
    BytesFrom(origin) += size;
    slices_.push_back(space);
    return space;
  }

  /// Appends bytes of memory that live as long as `pin`.
  void AppendPinned(Bytes bytes, std::shared_ptr<const void> pin) {
    BytesFrom(Origin::kMemory) += bytes.size();
    slices_.push_back(bytes);
    pins_.push_back(std::move(pin));
  }

  uint64_t bytes_from(Origin origin) const {
    return bytes_[static_cast<size_t>(origin)];
  }

 private:
  uint64_t& BytesFrom(Origin origin) {
    return bytes_[static_cast<size_t>(origin)];
  }

  std::vector<Bytes> slices_;
  std::vector<std::shared_ptr<const void>> pins_;
  Buffer scratch_;
  size_t used_ = 0;
  std::array<uint64_t, kOrigins> bytes_ = {};
};

}  // namespace ctxfs
