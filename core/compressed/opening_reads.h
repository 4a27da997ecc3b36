// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/mutex.h"
#include "core/base/result.h"

namespace ctxfs {

/// The bytes of a source that opening a container has read: the headers of an
/// archive lie all over it. Who opens it again need not decode everything for
/// them. Safe for any number of threads.
class OpeningReads {
 public:
  /// Of more than that, none is kept.
  static constexpr uint64_t kMax = 32 * limits::kMiB;

  OpeningReads() = default;
  OpeningReads(const OpeningReads&) = delete;
  OpeningReads& operator=(const OpeningReads&) = delete;

  void Record();
  /// Fills `out` with the bytes at `offset` if all of them were read.
  bool Find(uint64_t offset, MutableBytes out) const;
  /// Notes what was read, while it is recorded.
  void Add(uint64_t offset, Bytes bytes);
  /// Forgets all of them. Returns whether they were recorded; then appends them
  /// to `saved` first, or that there are none if they were too many.
  bool SaveAndClear(std::string& saved);

  /// Adds those of a source of `size` bytes that SaveAndClear has written.
  /// Fails with kCorrupt for other bytes.
  Status Load(ByteReader& saved, uint64_t size);

 private:
  void AddLocked(uint64_t offset, Bytes bytes) CTXFS_REQUIRES(mutex_);

  /// Whether any are recorded or known: most sources are read without a lock.
  std::atomic<bool> in_use_ = false;
  mutable Mutex mutex_;
  bool recording_ CTXFS_GUARDED_BY(mutex_) = false;
  bool too_many_ CTXFS_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::string> ranges_ CTXFS_GUARDED_BY(mutex_);
  uint64_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs
