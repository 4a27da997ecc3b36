// SPDX-License-Identifier: Apache-2.0
//
// Requests about open files.
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/content/read_through.h"
#include "core/content/window.h"
#include "core/content/work.h"
#include "core/vfs/file_handle.h"
#include "fs/backing_files.h"
#include "fs/fuse_request.h"
#include "fs/ops_internal.h"

namespace ctxfs::ops {
namespace {

/// What fuse_file_info::fh of a file points to.
struct OpenedFile {
  OpenedFile(std::shared_ptr<FileHandle> file, BackingFiles::Use use)
      : handle(std::move(file)), backing(std::move(use)) {}

  // A request that its caller gave up may still use the file when the kernel
  // closes it.
  std::shared_ptr<FileHandle> handle;
  BackingFiles::Use backing;
  std::atomic<uint64_t> asked = 0;  // bytes of all READ requests
};

struct Opening {
  std::unique_ptr<OpenedFile> opened;
  FileHandle::File file;
  /// Whether reads must not go through the kernel's pages.
  bool direct = false;
};

/// Whether the counters of `.ctxfs/stats` count the file: not if it is one of
/// them.
bool IsCounted(const OpenFile& file) {
  return file.lifetime != Lifetime::kNone;
}

/// Whether a page of the file may contain readable and unreadable bytes. The
/// kernel reads whole pages and would fail for the readable ones, too. Up to
/// 4 MiB that were not verified yet are verified to find out.
bool IsPartlyUnreadable(const Server& server, const OpenFile& file,
                        const ReadContext& context) {
  uint64_t budget = 4 * limits::kMiB;
  // Without pages the file could not be mapped, which is worse.
  return server.maps_direct_io() && file.content.HasUnreadable(budget, context);
}

/// Whether the kernel may read `used` for a file, because it does so for other
/// handles. A file of a mirrored directory is as the one below it.
Status CheckBacking(const OpenFile& file, const SourcePtr& used,
                    const ReadContext& context) {
  const bool plain = file.backing != nullptr && file.backing == file.made_from;
  if (used == nullptr || used == file.backing || plain) return {};
  return CompareBytes(file.content, *used, context);
}

/// Has the kernel read the file by itself where that is possible.
Result<BackingFiles::Use> BackingOf(Server& server, Inode inode,
                                    const OpenFile& file,
                                    const ReadContext& context) {
  BackingFiles* const files = server.backing_files();
  if (files == nullptr || !files->enabled()) return BackingFiles::Use();
  BackingFiles::Use use = files->Open(inode, file.backing);
  CTXFS_TRY(CheckBacking(file, use.file(), context));
  return use;
}

Result<Opening> OpenFileAt(Server& server, Inode inode,
                           const ReadContext& context) {
  OpenFile opened = CTXFS_TRY(server.files().Open(inode, context));
  CTXFS_TRY(server.made_files().Find(inode, opened, context));
  // The kernel sends no READ for an empty file, so whether it should be empty
  // is verified now.
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

/// Whether reading a file can take so long that its reader gives up. Requests
/// of the kernel's read-ahead name no reader, so the only sign that the reader
/// is gone is the FLUSH when it closes the file. A FLUSH costs a request.
bool ReadsMayTakeLong(const OpenFile& file) {
  return file.content.WorkExceeds(limits::kMiB);
}

void SetBacking([[maybe_unused]] fuse_file_info& info,
                [[maybe_unused]] int32_t id) {
#ifdef FUSE_CAP_PASSTHROUGH
  info.backing_id = id;
#endif
}

}  // namespace

void Open(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  if ((fi->flags & O_ACCMODE) != O_RDONLY) {
    fuse_reply_err(req, EROFS);
    return;
  }
  Server& server = ServerOf(req);
  Serve(
      req, inode,
      [&server, inode](const ReadContext& context) {
        return OpenFileAt(server, inode, context);
      },
      [&server, inode, info = *fi](fuse_req_t to, Opening opening) mutable {
        const OpenFile& file = *opening.file;
        const int32_t backing = opening.opened->backing.id();
        SetBacking(info, backing);
        // The kernel has no pages of a file that it reads by itself.
        info.keep_cache = file.same_pages && backing == 0 ? 1 : 0;
        info.direct_io = opening.direct ? 1 : 0;
        info.noflush = ReadsMayTakeLong(file) ? 0 : 1;
        info.fh = reinterpret_cast<uint64_t>(opening.opened.get());
        // After an interrupted open there is no release.
        if (IsCounted(file)) server.stats().CountOpen();
        if (fuse_reply_open(to, &info) != 0) return;
        (void)opening.opened.release();
        file.NoteOpened(inode);
      });
}

namespace {

/// The answer to a READ: slices of a window. Both belong to the thread, and are
/// reused for its next READ.
class ReadAnswer {
 public:
  ReadAnswer(Window& window, std::vector<iovec>& slices)
      : window_(&window), slices_(&slices) {
    slices.clear();
    for (const Bytes slice : window.slices()) {
      slices.push_back({const_cast<std::byte*>(slice.data()), slice.size()});
    }
  }
  ~ReadAnswer() {
    if (window_ != nullptr) window_->Clear();
  }
  ReadAnswer(ReadAnswer&& other) noexcept
      : window_(std::exchange(other.window_, nullptr)),
        slices_(other.slices_) {}
  ReadAnswer& operator=(ReadAnswer&&) = delete;

  const Window& window() const { return *window_; }

  void Send(fuse_req_t req) const {
    fuse_reply_iov(req, slices_->data(), static_cast<int>(slices_->size()));
  }

 private:
  Window* window_;
  std::vector<iovec>* slices_;
};

/// The bound on a read. An entry of zeros is some thousand times smaller when
/// it is compressed, and is not refused for that: decoding a gigabyte of it
/// takes less than a second, and can be interrupted.
uint64_t MostReadWork(const WorkLimit& limit, uint64_t stored) {
  return std::max(limit.For(stored), limits::kGiB);
}

Result<ReadAnswer> ReadFile(Server& server, FileHandle& handle,
                            const OpenFile& file, uint64_t from, size_t size,
                            const ReadContext& context) {
  thread_local Window window;  // its memory is kept: at most a megabyte
  thread_local std::vector<iovec> slices;
  const uint64_t stored = file.stored_size;
  Work work(MostReadWork(server.work_limit(), stored), stored);
  const ReadContext bounded = context.With(work);
  Status read = handle.Read(file, from, size, bounded, window);
  if (!read) {
    if (read.error().code != Code::kInterrupted) server.stats().CountError();
    return std::move(read).error();
  }
  return ReadAnswer(window, slices);
}

}  // namespace

void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* fi) {
  const auto start = std::chrono::steady_clock::now();
  Server& server = ServerOf(req);
  auto* const opened = reinterpret_cast<OpenedFile*>(fi->fh);
  std::shared_ptr<FileHandle> handle = opened->handle;
  FileHandle::File file = handle->file();
  const auto from = static_cast<uint64_t>(offset);
  const bool counted = IsCounted(*file);
  const uint64_t whole = file->content.size();
  const uint64_t before =
      opened->asked.fetch_add(size, std::memory_order_relaxed);
  FileHandle::File read;  // null until as much as all of it was read
  if (before < whole && size >= whole - before) read = file;
  if (counted) server.stats().CountRequest();
  server.prefetcher().ObserveRead(*file, from, from + size);
  Serve(
      req, inode,
      [&server, handle = std::move(handle), file = std::move(file), from,
       size](const ReadContext& context) {
        return ReadFile(server, *handle, *file, from, size, context);
      },
      [&server, inode, counted, start, read = std::move(read)](
          fuse_req_t to, const ReadAnswer& answer) {
        // Before the reply, so that a reader that has it finds it counted.
        if (counted) {
          server.stats().CountReply(answer.window(),
                                    std::chrono::steady_clock::now() - start);
        }
        answer.Send(to);
        if (read != nullptr) server.made_files().NoteRead(inode, read);
      },
      fi->fh);
}

void Flush(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  const auto thread = static_cast<uint64_t>(fuse_req_ctx(req)->pid);
  ServerOf(req).pool().GiveUp({fi->fh, thread});
  fuse_reply_err(req, 0);
}

void Release(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  const std::unique_ptr<OpenedFile> opened(
      reinterpret_cast<OpenedFile*>(fi->fh));
  if (opened->asked == 0 && opened->backing.id() == 0 &&
      IsCounted(*opened->handle->file())) {
    ServerOf(req).stats().CountUnread();
  }
  fuse_reply_err(req, 0);
}

}  // namespace ctxfs::ops
