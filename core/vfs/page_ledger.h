// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_set>

#include "core/tree/tree.h"

namespace ctxfs {

/// Remembers which files of a container were opened since it was renewed: the
/// kernel's pages of all others may be of its earlier bytes.
class PageLedger {
 public:
  void Renew() {
    renewed_ = true;
    opened_.clear();
  }

  /// Notes that a file is being opened. Returns whether the pages that the
  /// kernel has of it are good.
  bool Open(NodeId file) {
    // Pages of files that are forgotten here are dropped once more than need
    // be.
    constexpr size_t kMostOpened = 1'000'000;
    if (!renewed_) return true;
    if (opened_.size() >= kMostOpened) opened_.clear();
    return !opened_.insert(file).second;
  }

 private:
  bool renewed_ = false;  // until then all pages are good
  std::unordered_set<NodeId> opened_;
};

}  // namespace ctxfs
