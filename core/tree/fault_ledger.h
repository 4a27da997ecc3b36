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

/// Collects the faults that reading the files of a container finds: at most
/// kMaxFaults, with kMaxBytes of text. Safe for any number of threads.
class FaultLedger {
 public:
  static constexpr size_t kMaxFaults = 10'000;

  struct Fault {
    std::string path;  // from the container's root
    Error error;
  };

  /// Records that reading the file at `path` failed. Two errors of one path at
  /// one byte offset count as one fault; the first text is kept.
  void Record(const std::string& path, const Error& error);

  /// Returns the last recorded fault of the file at `path`; nullopt if there is
  /// none.
  std::optional<Error> LatestOf(const std::string& path) const;

  /// Returns whether there is no fault. Takes no lock.
  bool empty() const { return !any_.load(std::memory_order_acquire); }

  /// Returns the recorded faults, in the order of detection.
  std::vector<Fault> All() const;
  /// Number of errors that were not recorded because of the limits. Repetitions
  /// count each time.
  uint64_t left_out() const;

 private:
  static constexpr size_t kMaxBytes = size_t{8} << 20;

  std::atomic<bool> any_ = false;
  mutable Mutex mutex_;
  std::vector<Fault> faults_ CTXFS_GUARDED_BY(mutex_);
  // Indexes into faults_: by path and offset, and the latest by path.
  std::unordered_map<std::string, size_t> known_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<std::string, size_t> latest_ CTXFS_GUARDED_BY(mutex_);
  size_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs
