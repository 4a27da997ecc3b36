// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/io/source.h"

namespace ctxfs {

/// A MemorySource that remembers what was read of it and fails when told to. A
/// call is a ReadAt or a CheckUnchanged; both may fail on a real store.
class FaultySource final : public Source {
 public:
  struct Access {
    uint64_t offset;
    uint64_t length;
    bool operator==(const Access&) const = default;
  };

  explicit FaultySource(std::string bytes) : bytes_(std::move(bytes)) {}

  uint64_t size() const override { return bytes_.size(); }

  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    {
      const MutexLock lock(mutex_);
      accesses_.push_back({offset, out.size()});
    }
    if (Status fault = Count(); !fault) return fault;
    return bytes_.ReadAt(offset, out, request);
  }

  Status CheckUnchanged() const override { return Count(); }

  /// Lets `calls` calls succeed, and makes the one after them fail with kIo.
  void FailAfter(uint64_t calls) {
    const MutexLock lock(mutex_);
    fail_at_ = calls_ + calls + 1;
  }
  void FailNext() { FailAfter(0); }

  /// Lets `calls` calls succeed, and makes all after them fail with kStale.
  void GoStaleAfter(uint64_t calls) {
    const MutexLock lock(mutex_);
    stale_from_ = calls_ + calls + 1;
  }

  /// Cancels FailAfter and GoStaleAfter.
  void Heal() {
    const MutexLock lock(mutex_);
    fail_at_ = 0;
    stale_from_ = UINT64_MAX;
  }

  uint64_t calls() const {
    const MutexLock lock(mutex_);
    return calls_;
  }
  std::vector<Access> accesses() const {
    const MutexLock lock(mutex_);
    return accesses_;
  }
  uint64_t bytes_read() const {
    uint64_t sum = 0;
    for (const Access& access : accesses()) sum += access.length;
    return sum;
  }
  void ForgetAccesses() {
    const MutexLock lock(mutex_);
    accesses_.clear();
  }

 private:
  Status Count() const {
    const MutexLock lock(mutex_);
    ++calls_;
    if (calls_ >= stale_from_) return Error{Code::kStale, "stale on demand"};
    if (calls_ == fail_at_) return Error{Code::kIo, "fails on demand"};
    return {};
  }

  MemorySource bytes_;
  mutable Mutex mutex_;
  mutable std::vector<Access> accesses_ CTXFS_GUARDED_BY(mutex_);
  mutable uint64_t calls_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t fail_at_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t stale_from_ CTXFS_GUARDED_BY(mutex_) = UINT64_MAX;
};

/// `head` followed by zeros up to `size`: containers too large to be made.
class SparseSource final : public Source {
 public:
  SparseSource(std::string head, uint64_t size)
      : head_(std::move(head)), size_(size) {}

  uint64_t size() const override { return size_; }

  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& /*request*/) const override {
    if (!InBounds(offset, out.size(), size_)) {
      return Error{Code::kCorrupt, "read past the end", offset};
    }
    std::fill(out.begin(), out.end(), std::byte{0});
    if (offset < head_.size()) {
      const Bytes head = AsBytes(head_).subspan(offset);
      std::copy_n(head.begin(), std::min(head.size(), out.size()), out.begin());
    }
    return {};
  }

 private:
  std::string head_;
  uint64_t size_;
};

}  // namespace ctxfs
