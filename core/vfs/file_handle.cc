// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/file_handle.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "core/io/io_error.h"
#include "core/io/read_now.h"

namespace ctxfs {
namespace {

/// Reads the current bytes of a file; none past its end.
Status ReadLive(const Source& file, uint64_t offset, size_t length,
                Window& window) {
  struct stat st {};
  window.Clear();
  if (::fstat(file.descriptor(), &st) != 0) return IoError("has no size");
  const auto size = static_cast<uint64_t>(st.st_size);
  size_t wanted = std::min<uint64_t>(length, size - std::min(size, offset));
  // Retries with fewer bytes if the file was truncated meanwhile.
  while (wanted > 0) {
    window.Reserve(wanted);
    const Result<size_t> got =
        ReadNow(file.descriptor(), offset,
                window.AppendScratch(wanted, Origin::kContainer));
    if (got && *got == wanted) break;
    window.Clear();
    if (!got) return got.error();
    wanted = *got;
  }
  return {};
}

Status CheckUnchanged(const OpenFile& file) {
  return file.made_from == nullptr ? Status()
                                   : file.made_from->CheckUnchanged();
}

/// Whether a successful read proves that the source of the file is unchanged.
/// Reading a generated document in memory does not touch its source. A read
/// past the end touches nothing, and the kernel would take the empty result for
/// the end of the file. A failed read may have other reasons than a change.
bool AsksItsSource(const OpenFile& file, uint64_t offset, size_t length) {
  return file.made_from == nullptr ||
         file.content.ReadsOnly(*file.made_from, offset, length);
}

}  // namespace

FileHandle::FileHandle(const Namespace& files, Inode inode, OpenFile file)
    : files_(files),
      inode_(inode),
      file_(std::make_shared<const OpenFile>(std::move(file))) {}

FileHandle::File FileHandle::file() const {
  const MutexLock lock(mutex_);
  return file_;
}

template <typename Act>
Status FileHandle::Renewing(const OpenFile& file, const ReadContext& context,
                            const Act& act) {
  File renewed;  // null: it is still `file`
  Status outcome = act(file);
  for (int i = 0; !outcome && outcome.error().code == Code::kStale; ++i) {
    OpenFile reopened = CTXFS_TRY(files_.Reopen(
        inode_, renewed == nullptr ? file : *renewed, i, context));
    renewed = std::make_shared<const OpenFile>(std::move(reopened));
    {
      const MutexLock lock(mutex_);
      file_ = renewed;
    }
    outcome = act(*renewed);
  }
  if (!outcome) files_.NoteFailure(inode_, outcome.error(), context);
  return outcome;
}

Status FileHandle::Read(const OpenFile& file, uint64_t offset, size_t length,
                        const ReadContext& context, Window& window) {
  if (file.live) return ReadLive(*file.made_from, offset, length, window);
  return Renewing(file, context, [&](const OpenFile& now) {
    Status read = now.content.Read(offset, length, context, window);
    if (!read || !AsksItsSource(now, offset, length)) {
      if (Status fresh = CheckUnchanged(now); !fresh) {
        window.Clear();
        return fresh;
      }
    }
    if (read && offset + length >= now.content.size()) {
      now.content.MarkConsumed(context);
    }
    return read;
  });
}

Status FileHandle::Verify(const OpenFile& file, const ReadContext& context) {
  if (file.live) return {};
  return Renewing(file, context, [&](const OpenFile& now) {
    Status verified = now.content.Verify(context);
    Status fresh = CheckUnchanged(now);
    return fresh ? verified : fresh;
  });
}

}  // namespace ctxfs
