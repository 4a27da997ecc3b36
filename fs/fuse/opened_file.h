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

/// A file that the kernel has opened; its fuse_file_info::fh points to this.
struct OpenedFile {
  OpenedFile(std::shared_ptr<FileHandle> file, BackingFiles::Use use)
      : handle(std::move(file)),
        backing(std::move(use)),
        first_(handle->file()) {}

  /// Records that the kernel has applied the answer to the open, for example
  /// dropped old pages. Only a READ or the close proves that. So this must be
  /// called at each READ and at the close; only the first call has an effect.
  /// Until then, another open of the file must not let the kernel use old
  /// pages.
  void NoteOpened(Inode inode) noexcept;

  // Shared: an abandoned request may still use the file when the kernel closes
  // it.
  std::shared_ptr<FileHandle> handle;
  BackingFiles::Use backing;
  std::atomic<uint64_t> asked = 0;  // bytes of all READ requests

 private:
  std::atomic<bool> noted_ = false;
  FileHandle::File first_;  // null once noted
};

struct Opening {
  std::unique_ptr<OpenedFile> opened;
  FileHandle::File file;
  /// Whether reads must bypass the page cache.
  bool direct = false;
};

/// Opens a file for a handle of the kernel.
Result<Opening> OpenFileAt(Server& server, Inode inode,
                           const ReadContext& context);

}  // namespace ctxfs
