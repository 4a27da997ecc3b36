// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/result.h"

namespace ctxfs {

/// What reading the files of a container has found wrong so far. Takes no more
/// than kMostFaults faults and kMostBytes of their text. Safe for any number of
/// threads.
class FaultLedger {
 public:
  static constexpr size_t kMostFaults = 10'000;

  struct Fault {
    std::string path;  // from the container's root
    Error error;
  };

  /// Notes that reading the file at `path` failed. Two errors of one path at
  /// one byte offset count as one fault; the first text is kept.
  void Note(const std::string& path, const Error& error);

  /// Why reading the file at `path` failed the last time that it did.
  std::optional<Error> LatestOf(const std::string& path) const;

  /// Whether nothing has been noted; costs no lock.
  bool empty() const { return !any_.load(std::memory_order_acquire); }

  /// In the order in which they were found.
  std::vector<Fault> All() const;
  /// How often a fault came for which there was no room.
  uint64_t left_out() const;

 private:
  static constexpr size_t kMostBytes = size_t{8} << 20;

  std::atomic<bool> any_ = false;
  mutable Mutex mutex_;
  std::vector<Fault> faults_ CTXFS_GUARDED_BY(mutex_);
  // Indexes in faults_: by path and offset, and the latest by path.
  std::unordered_map<std::string, size_t> known_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<std::string, size_t> latest_ CTXFS_GUARDED_BY(mutex_);
  size_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs
