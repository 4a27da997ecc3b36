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

/// The bytes of a source that were read to open its container. The headers of
/// an archive are spread over the whole file. Reopening the container with
/// these bytes avoids decoding the whole file. Safe for any number of threads.
class OpeningReads {
 public:
  /// If the reads exceed this many bytes in total, all are dropped.
  static constexpr uint64_t kMax = 32 * limits::kMiB;

  OpeningReads() = default;
  OpeningReads(const OpeningReads&) = delete;
  OpeningReads& operator=(const OpeningReads&) = delete;

  void Record();
  /// Fills `out` with the bytes at `offset` if all of them are loaded; returns
  /// whether they are.
  bool Find(uint64_t offset, MutableBytes out) const;
  /// Stores bytes that were read, if reads are being recorded.
  void Add(uint64_t offset, Bytes bytes);
  /// Appends the recorded bytes to `saved`, or an empty list if they exceeded
  /// kMax or memory for them was refused. Then drops all bytes. Returns false
  /// if reads were not being recorded, or if memory for `saved` was refused.
  bool SaveAndClear(std::string& saved);

  /// Loads the output of SaveAndClear for a source of `size` bytes. Fails with
  /// kCorrupt if `saved` is invalid.
  Status Load(ByteReader& saved, uint64_t size);

 private:
  void AddLocked(uint64_t offset, Bytes bytes) CTXFS_REQUIRES(mutex_);

  /// Whether reads are being recorded or are loaded. Avoids the lock for most
  /// sources.
  std::atomic<bool> in_use_ = false;
  mutable Mutex mutex_;
  bool recording_ CTXFS_GUARDED_BY(mutex_) = false;
  bool too_many_ CTXFS_GUARDED_BY(mutex_) = false;
  std::map<uint64_t, std::string> ranges_ CTXFS_GUARDED_BY(mutex_);
  uint64_t bytes_ CTXFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace ctxfs
