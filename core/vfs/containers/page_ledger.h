// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/tree/name_tree.h"

namespace ctxfs {

/// Remembers which files of a container were opened since it was renewed: the
/// kernel's pages of all other files may have bytes from before the renewal.
/// Safe for any number of threads.
class PageLedger {
 public:
  /// Whether the kernel's cached pages of a file are good, and the number of
  /// renewals at that time.
  struct Verdict {
    bool good = false;
    uint64_t renewals = 0;
  };

  void Renew() {
    const MutexLock lock(mutex_);
    ++renewals_;
    opened_.clear();
  }

  Verdict Of(NodeId file) const {
    const MutexLock lock(mutex_);
    return {renewals_ == 0 || opened_.contains(file), renewals_};
  }

  /// Records that the kernel has opened a file. Unless `verdict` was good, the
  /// caller must have dropped the kernel's pages of the file before.
  void NoteOpened(NodeId file, const Verdict& verdict) {
    // Forgetting a file costs one needless drop of its pages.
    constexpr size_t kMaxOpened = 1'000'000;
    const MutexLock lock(mutex_);
    if (renewals_ == 0 || verdict.renewals != renewals_) return;
    if (opened_.size() >= kMaxOpened) opened_.clear();
    opened_.insert(file);
  }

 private:
  mutable Mutex mutex_;
  /// While this is 0, all pages are good.
  uint64_t renewals_ CTXFS_GUARDED_BY(mutex_) = 0;
  std::unordered_set<NodeId> opened_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
