// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/vfs/attributes.h"
#include "core/vfs/file_handle.h"
#include "core/vfs/materialized/materialized_files.h"
#include "core/vfs/namespace.h"

namespace ctxfs {

/// Files that the kernel opens by itself (-o revalidate=), so that its READs
/// name an inode, not a handle. The kernel uses cached pages as long as it
/// caches the file's attributes. Before attributes are sent again, Check
/// examines the file as an open would. Thread-safe.
class InodeFiles {
 public:
  /// `files` and `made` must outlive this.
  InodeFiles(Namespace& files, MaterializedFiles& made)
      : files_(files), made_(made) {}

  /// Opens a file for one READ, after which the kernel has pages of it.
  Result<std::shared_ptr<FileHandle>> Open(Inode file,
                                           const ReadContext& context);

  /// Records a READ of `size` bytes; returns the bytes requested before.
  uint64_t NoteAsked(Inode file, uint64_t size);

  /// Examines a file before its attributes are sent. Fails like
  /// Namespace::Open, with kStale for instance, if the kernel must not use its
  /// pages. If the pages may be outdated, changes mtime for a second, so that
  /// the kernel drops them. (A notification would wait for pending READs, for
  /// ever if the daemon is killed meanwhile.) For a text that differs at each
  /// open, sets size and mtime of the current version, which lasts a second.
  Status Check(Inode file, Attributes& attributes, const ReadContext& context);

  /// Whether the kernel may have cached pages of a file.
  bool HasPages(Inode file) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// The current version of a text that differs at each open; lasts a second.
  struct Text {
    Content content;
    Clock::time_point made;
    FileTime mtime;
  };

  /// A file that the kernel may have cached pages of.
  struct Known {
    uint64_t asked = 0;             // total bytes of READ requests
    Clock::time_point bad_since{};  // when first seen outdated, or unset
  };

  /// Returns the current version of a text: `now` if the previous version is
  /// older than a second.
  Text TextOf(Inode file, Content now);
  /// Records that the kernel will have pages of a file. Returns whether it may
  /// have had pages before.
  bool NotePages(Inode file);
  Known& Remember(Inode file) CTXFS_REQUIRES(mutex_);
  bool HasPagesLocked(Inode file) const CTXFS_REQUIRES(mutex_);
  /// Whether an answer must make the kernel drop the outdated pages of a file:
  /// true for a second after the first call. A single answer would not be
  /// enough, because the kernel may ignore one of two concurrent answers.
  bool MustDrop(Inode file);

  Namespace& files_;
  MaterializedFiles& made_;
  mutable Mutex mutex_;
  std::unordered_map<Inode, Known> known_ CTXFS_GUARDED_BY(mutex_);
  /// The current versions of texts.
  std::unordered_map<Inode, Text> texts_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
