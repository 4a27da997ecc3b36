// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "core/base/lru_map.h"
#include "core/base/mutex.h"
#include "core/io/source.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Mirrored files that stay open after their readers have closed them, so that
/// the next open walks no path. The least recently used is closed first. Safe
/// for any number of threads.
class KeptSources {
 public:
  /// `lasting`: how long a file is used without looking up its name again (-o
  /// timeout=). Nothing is kept unless `lasting` is longer than a second or
  /// `changed_too` is set. `changed_too`: a file that has changed or lost its
  /// name also stays open, because READs may still need it.
  explicit KeptSources(std::chrono::seconds lasting, bool changed_too = false)
      : lasting_(lasting), changed_too_(changed_too) {}

  /// The open file of `inode`; null if none is kept, if it has changed or was
  /// replaced, or if its name has to be looked up again.
  SourcePtr Get(Inode inode);

  /// Keeps a file that was just looked up, unless descriptors are scarce.
  void Keep(Inode inode, SourcePtr source);

  void Drop(Inode inode);

  /// Closes all files. Returns false if there were none.
  bool DropAll();

 private:
  using Clock = std::chrono::steady_clock;
  struct Kept {
    SourcePtr source;
    Clock::time_point found;  // by its name
  };

  const std::chrono::seconds lasting_;
  const bool changed_too_;
  Mutex mutex_;
  LruMap<Inode, Kept> kept_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
