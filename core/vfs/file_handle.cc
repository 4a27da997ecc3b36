// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/file_handle.h"

#include <utility>

namespace ctxfs {
namespace {

Status CheckUnchanged(const Namespace::OpenFile& file) {
  const Source* const source = file.made_from();
  return source == nullptr ? Status() : source->CheckUnchanged();
}

/// Whether a read finds out by itself that what the file is made from has
/// changed. One of a document that was made before does not, and neither does
/// one past the end, which the kernel would take for the file's end. One that
/// fails may give another reason.
bool AsksItsSource(const Namespace::OpenFile& file, uint64_t offset,
                   size_t length) {
  const Source* const source = file.made_from();
  return source == nullptr || file.content.ReadsOnly(*source, offset, length);
}

}  // namespace

FileHandle::FileHandle(const Namespace& files, Inode inode,
                       Namespace::OpenFile file)
    : files_(files),
      inode_(inode),
      file_(std::make_shared<const Namespace::OpenFile>(std::move(file))) {}

std::shared_ptr<const Namespace::OpenFile> FileHandle::file() const {
  const MutexLock lock(mutex_);
  return file_;
}

template <typename Act>
Status FileHandle::Renewing(const ReadContext& context, const Act& act) {
  // A file that keeps changing is not followed for ever.
  constexpr int kMostRenewals = 4;
  std::shared_ptr<const Namespace::OpenFile> file = this->file();
  Status outcome = act(*file);
  for (int i = 0;
       i < kMostRenewals && !outcome && outcome.error().code == Code::kStale;
       ++i) {
    Result<Namespace::OpenFile> reopened =
        files_.Reopen(inode_, *file, /*renew=*/i > 0, context);
    if (!reopened) return std::move(reopened).error();
    file = std::make_shared<const Namespace::OpenFile>(std::move(*reopened));
    {
      const MutexLock lock(mutex_);
      file_ = file;
    }
    outcome = act(*file);
    if (i + 1 == kMostRenewals && !outcome) files_.GiveUp(inode_);
  }
  if (!outcome) files_.NoteFailure(inode_, outcome.error(), context);
  return outcome;
}

Status FileHandle::Read(uint64_t offset, size_t length,
                        const ReadContext& context, Window& window) {
  return Renewing(context, [&](const Namespace::OpenFile& file) {
    Status read = file.content.Read(offset, length, context, window);
    if (read && AsksItsSource(file, offset, length)) return read;
    Status fresh = CheckUnchanged(file);
    if (!fresh) window.Clear();
    return fresh ? read : fresh;
  });
}

Status FileHandle::Verify(const ReadContext& context) {
  return Renewing(context, [&](const Namespace::OpenFile& file) {
    Status verified = file.content.Verify(context);
    Status fresh = CheckUnchanged(file);
    return fresh ? verified : fresh;
  });
}

}  // namespace ctxfs
