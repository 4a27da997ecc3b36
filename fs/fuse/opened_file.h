// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/vfs/file_handle.h"
#include "fs/kernel/backing_files.h"
#include "fs/mount/server.h"

namespace ctxfs {

/// What fuse_file_info::fh of a file points to.
struct OpenedFile {
  OpenedFile(std::shared_ptr<FileHandle> file, BackingFiles::Use use)
      : handle(std::move(file)),
        backing(std::move(use)),
        first_(handle->file()) {}

  /// To be called with each READ, and when the file is closed. Only the first
  /// shows that the kernel has done what the answer to the open asked for:
  /// another open that is answered before may not use its old pages.
  void NoteOpened(Inode inode) noexcept;

  // A request that its caller gave up may still use the file when the kernel
  // closes it.
  std::shared_ptr<FileHandle> handle;
  BackingFiles::Use backing;
  std::atomic<uint64_t> asked = 0;  // bytes of all READ requests

 private:
  std::atomic<bool> noted_ = false;
  FileHandle::File first_;  // what was opened; null once it is noted
};

struct Opening {
  std::unique_ptr<OpenedFile> opened;
  FileHandle::File file;
  /// Whether reads must not go through the kernel's pages.
  bool direct = false;
};

/// Opens a file for a handle of the kernel's.
Result<Opening> OpenFileAt(Server& server, Inode inode,
                           const ReadContext& context);

}  // namespace ctxfs
