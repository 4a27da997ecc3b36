// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/mutex.h"
#include "core/content/read_context.h"
#include "core/content/window.h"
#include "core/vfs/namespace.h"

namespace ctxfs {

/// An open file that stays open when its container is renewed
/// (Namespace::Reopen). Safe for any number of threads.
class FileHandle {
 public:
  FileHandle(const Namespace& files, Inode inode, Namespace::OpenFile file);

  /// The file as it is read now.
  std::shared_ptr<const Namespace::OpenFile> file() const;

  /// Content::Read and Content::Verify. Fail with kStale once more than the
  /// ctime of what the file is made from has changed.
  Status Read(uint64_t offset, size_t length, const ReadContext& context,
              Window& window);
  Status Verify(const ReadContext& context);

 private:
  template <typename Act>
  Status Renewing(const ReadContext& context, const Act& act);

  const Namespace& files_;
  const Inode inode_;
  mutable Mutex mutex_;
  std::shared_ptr<const Namespace::OpenFile> file_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
