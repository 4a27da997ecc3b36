// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/opened_file.h"

#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/content/read_through.h"

namespace ctxfs {
namespace {

/// Whether a page of the file may mix readable and unreadable bytes. The kernel
/// reads whole pages, so it would fail for the readable bytes, too. Verifies up
/// to 4 MiB to find out.
bool IsPartlyUnreadable(const Server& server, const OpenFile& file,
                        const ReadContext& context) {
  uint64_t budget = 4 * limits::kMiB;
  // A partly unreadable file is opened with direct_io. A kernel that cannot map
  // files opened so would fail every mmap of them, which is worse.
  return server.maps_direct_io() && file.content.HasUnreadable(budget, context);
}

/// Checks that `used`, which the kernel reads for other handles of the inode,
/// has the bytes of `file`. A mirrored plain file is its own backing, so it
/// needs no check.
Status CheckBacking(const OpenFile& file, const SourcePtr& used,
                    const ReadContext& context) {
  const bool plain = file.backing != nullptr && file.backing == file.made_from;
  if (used == nullptr || used == file.backing || plain) return {};
  return CompareBytes(file.content, *used, context);
}

/// Makes the kernel read the file itself if possible.
Result<BackingFiles::Use> BackingOf(Server& server, Inode inode,
                                    const OpenFile& file,
                                    const ReadContext& context) {
  BackingFiles* const files = server.backing_files();
  if (files == nullptr || !files->enabled()) return BackingFiles::Use();
  BackingFiles::Use use = files->Open(inode, file.backing);
  CTXFS_TRY(CheckBacking(file, use.file(), context));
  return use;
}

}  // namespace

void OpenedFile::NoteOpened(Inode inode) noexcept {
  if (noted_.load(std::memory_order_relaxed) || noted_.exchange(true)) return;
  try {
    first_->NoteOpened(inode);
  } catch (...) {
    // Without the record, the kernel only drops the file's pages once more.
  }
  first_.reset();
}

Result<Opening> OpenFileAt(Server& server, Inode inode,
                           const ReadContext& context) {
  OpenFile opened = CTXFS_TRY(server.files().Open(inode, context));
  CTXFS_TRY(server.materialized_files().Find(inode, opened, context));
  // The kernel sends no READ for an empty file, so emptiness is verified now.
  const bool verify = server.options().verify == VerifyMode::kOpen ||
                      opened.content.size() == 0;
  auto handle =
      std::make_shared<FileHandle>(server.files(), inode, std::move(opened));
  if (verify) {
    CTXFS_TRY(handle->Verify(*handle->file(), context));
  }
  FileHandle::File now = handle->file();
  const bool direct = now->lifetime == Lifetime::kNone ||
                      IsPartlyUnreadable(server, *now, context);
  BackingFiles::Use backing =
      CTXFS_TRY(BackingOf(server, inode, *now, context));
  return Opening{
      std::make_unique<OpenedFile>(std::move(handle), std::move(backing)),
      std::move(now), direct};
}

}  // namespace ctxfs
