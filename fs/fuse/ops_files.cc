// SPDX-License-Identifier: Apache-2.0
//
// Requests about open files.
#include <sys/uio.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/work.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/content/window.h"
#include "core/vfs/file_handle.h"
#include "fs/fuse/fuse_request.h"
#include "fs/fuse/opened_file.h"
#include "fs/fuse/ops_internal.h"
#include "fs/kernel/inode_files.h"

namespace ctxfs::ops {
namespace {

/// Whether `.ctxfs/stats` counts the file. Texts that differ at each open, such
/// as `.ctxfs/stats` itself, are not counted.
bool IsCounted(const OpenFile& file) {
  return file.lifetime != Lifetime::kNone;
}

/// Whether a read can take so long that the reader gives up. No thread waits
/// for the kernel's read-ahead requests, so only a FLUSH at the close shows
/// that the reader is gone. A FLUSH costs a request, so other files do without.
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
  if (server.opens_without_handles()) {
    // After ENOSYS, the kernel opens files without OPEN requests and caches
    // their pages.
    fuse_reply_err(req, ENOSYS);
    return;
  }
  Serve(
      req, inode,
      [&server, inode](const ReadContext& context) {
        return OpenFileAt(server, inode, context);
      },
      [&server, inode, info = *fi](Reply& to, Opening opening) mutable {
        const OpenFile& file = *opening.file;
        const int32_t backing = opening.opened->backing.id();
        SetBacking(info, backing);
        // The kernel caches no pages of a file that it reads itself.
        info.keep_cache = file.same_pages && backing == 0 ? 1 : 0;
        info.direct_io = opening.direct ? 1 : 0;
        info.noflush = ReadsMayTakeLong(file) ? 0 : 1;
        info.fh = reinterpret_cast<uint64_t>(opening.opened.get());
        // The kernel may have cached another size, at which it would end the
        // file.
        if (!file.same_size) server.ForgetAttributes(inode);
        if (IsCounted(file)) server.stats().CountOpen();
        // If sending fails, the open was interrupted: the kernel sends no
        // RELEASE, and `opening` frees the file.
        if (fuse_reply_open(to.Take(), &info) != 0) return;
        (void)opening.opened.release();
      });
}

namespace {

/// The answer to a READ: slices of a window. The thread owns and reuses the
/// window and the slices.
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

  void Send(Reply& to) const {
    fuse_reply_iov(to.Take(), slices_->data(),
                   static_cast<int>(slices_->size()));
  }

 private:
  Window* window_;
  std::vector<iovec>* slices_;
};

/// Returns the work limit of a read. Compressed zeros shrink some thousand
/// times and must not be refused: decoding 1 GiB of them takes less than a
/// second and is interruptible.
uint64_t MostReadWork(const WorkLimit& limit, uint64_t stored) {
  return std::max(limit.For(stored), limits::kGiB);
}

Result<ReadAnswer> ReadFile(Server& server, FileHandle& handle,
                            const OpenFile& file, uint64_t from, size_t size,
                            const ReadContext& context) {
  thread_local Window window;  // reused; at most 1 MiB
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

struct FileRead {
  Inode inode;
  uint64_t from;
  size_t size;
  std::chrono::steady_clock::time_point start;
  uint64_t file;  // identifies the open file; not 0
};

void ReadFrom(Reply& reply, const FileRead& asked,
              std::shared_ptr<FileHandle> handle, uint64_t before) {
  Server& server = ServerOf(reply.get());
  const auto [inode, from, size, start, key] = asked;
  FileHandle::File file = handle->file();
  const bool counted = IsCounted(*file);
  const uint64_t whole = file->content.size();
  FileHandle::File read;  // null unless all bytes have been requested
  if (before < whole && size >= whole - before) read = file;
  if (counted) server.stats().CountRequest();
  server.prefetcher().ObserveRead(*file, from, from + size);
  Serve(
      reply.Take(), inode,
      [&server, handle = std::move(handle), file = std::move(file), from = from,
       size = size](const ReadContext& context) {
        return ReadFile(server, *handle, *file, from, size, context);
      },
      [&server, inode = inode, counted, start = start, read = std::move(read)](
          Reply& to, const ReadAnswer& answer) {
        // Counts before the reply, so that a reader that has the reply finds it
        // counted.
        if (counted) {
          server.stats().CountReply(answer.window(),
                                    std::chrono::steady_clock::now() - start);
        }
        answer.Send(to);
        if (read != nullptr) server.materialized_files().NoteRead(inode, read);
      },
      key);
}

/// Reads a file that the kernel opened without an OPEN request.
void ReadInode(fuse_req_t req, const FileRead& asked) {
  Server& server = ServerOf(req);
  Serve(
      req, asked.inode,
      [&server, inode = asked.inode](const ReadContext& context) {
        return server.inode_files().Open(inode, context);
      },
      [&server, asked](Reply& to, std::shared_ptr<FileHandle> handle) {
        ReadFrom(to, asked, std::move(handle),
                 server.inode_files().NoteAsked(asked.inode, asked.from,
                                                asked.size));
      },
      asked.file);
}

}  // namespace

void Read(fuse_req_t req, fuse_ino_t inode, size_t size, off_t offset,
          fuse_file_info* fi) {
  FileRead asked{inode, static_cast<uint64_t>(offset), size,
                 std::chrono::steady_clock::now(), fi->fh};
  if (auto* const opened = reinterpret_cast<OpenedFile*>(fi->fh)) {
    Reply reply(req);
    opened->NoteOpened(inode);
    ReadFrom(reply, asked, opened->handle,
             opened->asked.fetch_add(size, std::memory_order_relaxed));
    return;
  }
  asked.file = inode;
  ReadInode(req, asked);
}

void Flush(fuse_req_t req, fuse_ino_t /*inode*/, fuse_file_info* fi) {
  if (ServerOf(req).opens_without_handles()) {
    fuse_reply_err(req, ENOSYS);  // stops further requests
    return;
  }
  const auto thread = static_cast<uint64_t>(fuse_req_ctx(req)->pid);
  ServerOf(req).pool().GiveUp({fi->fh, thread});
  fuse_reply_err(req, 0);
}

void Release(fuse_req_t req, fuse_ino_t inode, fuse_file_info* fi) {
  Server& server = ServerOf(req);
  std::unique_ptr<OpenedFile> opened(reinterpret_cast<OpenedFile*>(fi->fh));
  opened->NoteOpened(inode);
  if (opened->asked == 0 && opened->backing.id() == 0 &&
      IsCounted(*opened->handle->file())) {
    server.stats().CountUnread();
  }
  opened.reset();
  server.materialized_files().NoteClosed(inode);
  fuse_reply_err(req, 0);
}

}  // namespace ctxfs::ops
