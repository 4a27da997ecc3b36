// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/stop_flag.h"
#include "core/container/file_table.h"
#include "core/content/block_cache.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// Decodes and verifies entries in background threads before they are read.
/// Prefetching begins when a reader has read an entry to its end and starts the
/// next one. Best effort: errors are reported when the entry is read.
class Prefetcher {
 public:
  Prefetcher(BlockCache& cache, uint64_t budget);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Must be called when bytes [offset, end) of a file are being read.
  void ObserveRead(const OpenFile& file, uint64_t offset, uint64_t end);

 private:
  struct Entry {
    const FileTable* entries = nullptr;  // only compared, never followed
    uint32_t entry = 0;
    bool operator==(const Entry&) const = default;
  };
  struct Job {
    std::shared_ptr<const FileTable> entries;
    uint32_t entry;
  };

  void OnSequentialStart(const OpenFile& file) CTXFS_REQUIRES(mutex_);
  void Start() CTXFS_REQUIRES(mutex_);
  void Run();
  void Prepare(Job job);

  BlockCache& cache_;
  StopFlag stopping_;
  const uint64_t largest_;
  Mutex mutex_;
  CondVar changed_;
  std::array<Entry, 8> ended_ CTXFS_GUARDED_BY(mutex_);
  size_t next_ended_ CTXFS_GUARDED_BY(mutex_) = 0;
  const FileTable* run_ CTXFS_GUARDED_BY(mutex_) = nullptr;  // only compared
  uint64_t scheduled_ CTXFS_GUARDED_BY(mutex_) = 0;  // entries of the run below
                                                     // this are scheduled
  std::deque<Job> queue_ CTXFS_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
