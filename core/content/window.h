// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/base/bytes.h"

namespace ctxfs {

/// The answer to one read: slices in file order, valid until the Window is
/// cleared or read into again. Slices of cached blocks and literals are not
/// copied; the Window keeps what they point into alive.
class Window {
 public:
  const std::vector<Bytes>& slices() const { return slices_; }

  void Clear() {
    slices_.clear();
    pins_.clear();
    used_ = 0;
  }

  /// Makes room for `size` bytes of scratch in all; only after Clear().
  void Reserve(size_t size) {
    if (scratch_.size() < size) scratch_ = Buffer(size);
  }

  /// Appends `size` bytes of the reserved scratch for the caller to fill.
  MutableBytes AppendScratch(size_t size) {
    const MutableBytes space = scratch_.span().subspan(used_, size);
    used_ += size;
    slices_.push_back(space);
    return space;
  }

  /// Appends bytes that live as long as `pin`.
  void AppendPinned(Bytes bytes, std::shared_ptr<const void> pin) {
    slices_.push_back(bytes);
    pins_.push_back(std::move(pin));
  }

 private:
  std::vector<Bytes> slices_;
  std::vector<std::shared_ptr<const void>> pins_;
  Buffer scratch_;
  size_t used_ = 0;
};

}  // namespace ctxfs
