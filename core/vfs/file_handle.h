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
  using File = std::shared_ptr<const OpenFile>;

  FileHandle(const Namespace& files, Inode inode, OpenFile file);

  /// The file that reads use now.
  File file() const;

  /// Like Content::Read and Content::Verify. `file` must be a result of file().
  /// If it is stale, these functions reopen it and try again. They fail with
  /// kStale once more than the ctime of the file's source has changed. A read
  /// to the end of the file marks its blocks as consumed
  /// (BlockCache::MarkConsumed).
  Status Read(const OpenFile& file, uint64_t offset, size_t length,
              const ReadContext& context, Window& window);
  Status Verify(const OpenFile& file, const ReadContext& context);

 private:
  template <typename Act>
  Status Renewing(const OpenFile& file, const ReadContext& context,
                  const Act& act);

  const Namespace& files_;
  const Inode inode_;
  mutable Mutex mutex_;
  File file_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
