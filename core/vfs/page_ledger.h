// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_set>

#include "core/tree/name_tree.h"

namespace ctxfs {

/// Remembers which files of a container were opened since it was renewed: the
/// kernel's pages of all others may be of its earlier bytes.
class PageLedger {
 public:
  /// Whether the pages that the kernel has of a file are good, and of how many
  /// renewals that was said.
  struct Verdict {
    bool good = false;
    uint64_t renewals = 0;
  };

  void Renew() {
    ++renewals_;
    opened_.clear();
  }

  Verdict Of(NodeId file) const {
    return {renewals_ == 0 || opened_.contains(file), renewals_};
  }

  /// Notes that the kernel has opened a file and dropped its pages if `verdict`
  /// said so.
  void NoteOpened(NodeId file, const Verdict& verdict) {
    // Pages of files that are forgotten here are dropped once more than need
    // be.
    constexpr size_t kMostOpened = 1'000'000;
    if (renewals_ == 0 || verdict.renewals != renewals_) return;
    if (opened_.size() >= kMostOpened) opened_.clear();
    opened_.insert(file);
  }

 private:
  uint64_t renewals_ = 0;  // while there was none, all pages are good
  std::unordered_set<NodeId> opened_;
};

}  // namespace ctxfs
