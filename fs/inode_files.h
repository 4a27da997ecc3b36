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
#include "core/vfs/made_files.h"
#include "core/vfs/namespace.h"
#include "fs/kernel_pages.h"

namespace ctxfs {

/// The files of a mount whose kernel opens them by itself (-o revalidate=), so
/// that it asks for bytes of an inode, not of a handle. It keeps pages while it
/// believes a file's attributes. Before it is told these again, the file is
/// examined as an open would do. Safe for any number of threads.
class InodeFiles {
 public:
  /// All outlive this.
  InodeFiles(Namespace& files, MadeFiles& made, KernelPages& pages)
      : files_(files), made_(made), pages_(pages) {}

  /// Opens a file for one READ. The kernel then has pages of it.
  Result<std::shared_ptr<FileHandle>> Open(Inode file,
                                           const ReadContext& context);

  /// Notes a READ of `size` bytes; returns how many were asked for before.
  uint64_t NoteAsked(Inode file, uint64_t size);

  /// Examines a file before its attributes are told. Has the kernel drop its
  /// pages if they may be of other bytes. Fails with kStale if the kernel must
  /// not use them, and as Namespace::Open. For a text that differs at each
  /// open, sets the size and time of the one that is read for a second.
  Status Check(Inode file, Attributes& attributes, const ReadContext& context);

  /// Whether the kernel may have pages of a file.
  bool HasPages(Inode file) const;

  /// Notes that the kernel forgets a file.
  void Forget(Inode file);

 private:
  using Clock = std::chrono::steady_clock;

  /// A text that differs at each open, as it is read for a second.
  struct Text {
    Content content;
    Clock::time_point made;
    FileTime mtime;
  };

  Result<OpenFile> OpenNow(Inode file, const ReadContext& context);
  Text TextOf(Inode file, Content now);
  /// Notes that the kernel will have pages of a file. Returns whether it may
  /// have had some.
  bool NotePages(Inode file);

  Namespace& files_;
  MadeFiles& made_;
  KernelPages& pages_;
  mutable Mutex mutex_;
  /// Bytes asked for, by files that the kernel may have pages of.
  std::unordered_map<Inode, uint64_t> asked_ CTXFS_GUARDED_BY(mutex_);
  std::unordered_map<Inode, Text> texts_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
