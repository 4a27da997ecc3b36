// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/container/container.h"
#include "core/content/block_cache.h"

namespace ctxfs {

/// Decodes entries before they are read, once a reader has read an entry to its
/// end and begun the next: decoding one then goes on while another is served.
/// Raw entries are left alone; verifying them costs too little to be worth it.
/// Best effort: what fails here fails again, and is told, when it is read.
class Ahead {
 public:
  Ahead(std::shared_ptr<const Container> container, BlockCache& cache,
        uint64_t budget);
  ~Ahead();
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  /// Bytes [offset, end) of an entry of `size` bytes are being read.
  void Note(uint32_t entry, uint64_t offset, uint64_t end, uint64_t size);

 private:
  void Begun(uint32_t entry) CTXFS_REQUIRES(mutex_);
  void Start() CTXFS_REQUIRES(mutex_);
  void Run();

  const std::shared_ptr<const Container> container_;
  BlockCache& cache_;
  const uint64_t largest_;
  Mutex mutex_;
  CondVar changed_;
  std::array<uint32_t, 8> ended_ CTXFS_GUARDED_BY(mutex_);  // entries
  size_t next_ended_ CTXFS_GUARDED_BY(mutex_) = 0;
  uint64_t scheduled_ CTXFS_GUARDED_BY(mutex_) = 0;  // all below, of this run
  std::deque<uint32_t> queue_ CTXFS_GUARDED_BY(mutex_);
  bool stop_ CTXFS_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
