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

/// The files of a mount whose kernel opens them by itself (-o revalidate=), so
/// that it asks for bytes of an inode, not of a handle. It uses the pages that
/// it has while it believes a file's attributes. Before it is told these again,
/// the file is examined as an open would do. Safe for any number of threads.
class InodeFiles {
 public:
  /// Both outlive this.
  InodeFiles(Namespace& files, MaterializedFiles& made)
      : files_(files), made_(made) {}

  /// Opens a file for one READ. The kernel then has pages of it.
  Result<std::shared_ptr<FileHandle>> Open(Inode file,
                                           const ReadContext& context);

  /// Notes a READ of `size` bytes; returns how many were asked for before.
  uint64_t NoteAsked(Inode file, uint64_t size);

  /// Examines a file before its attributes are told. Fails with kStale if the
  /// kernel must not use its pages, and as Namespace::Open. If they may be of
  /// other bytes, sets another mtime, for which the kernel drops them, for a
  /// second. (A notification would wait for any READ of them, without an end if
  /// the daemon is killed meanwhile.) For a text that differs at each open,
  /// sets the size and time of the one that is read for a second.
  Status Check(Inode file, Attributes& attributes, const ReadContext& context);

  /// Whether the kernel may have pages of a file.
  bool HasPages(Inode file) const;

 private:
  using Clock = std::chrono::steady_clock;

  /// A text that differs at each open, as it is read for a second.
  struct Text {
    Content content;
    Clock::time_point made;
    FileTime mtime;
  };

  /// A file that the kernel may have pages of.
  struct Known {
    uint64_t asked = 0;             // bytes, of all READ requests
    Clock::time_point bad_since{};  // its pages; unset: they are good
  };

  /// The text that is read now; `now` from now on if the one before is older
  /// than a second.
  Text TextOf(Inode file, Content now);
  /// Notes that the kernel will have pages of a file. Returns whether it may
  /// have had some.
  bool NotePages(Inode file);
  Known& Remember(Inode file) CTXFS_REQUIRES(mutex_);
  bool HasPagesLocked(Inode file) const CTXFS_REQUIRES(mutex_);
  /// Called for a file whose pages are not good. Returns whether they still
  /// have to be dropped: for a second, since of two answers that are under way
  /// at once the kernel may ignore one.
  bool MustDrop(Inode file);

  Namespace& files_;
  MaterializedFiles& made_;
  mutable Mutex mutex_;
  std::unordered_map<Inode, Known> known_ CTXFS_GUARDED_BY(mutex_);
  /// Texts that were read a moment ago.
  std::unordered_map<Inode, Text> texts_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
