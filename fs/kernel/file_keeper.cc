// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/file_keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "core/base/bytes.h"
#include "core/base/caught.h"
#include "core/base/text/text.h"
#include "core/codec/crypto/keyed_digest.h"
#include "core/io/identity.h"
#include "core/io/io_error.h"
#include "core/io/spill_file.h"
#include "fs/mount/kept_identity.h"

namespace ctxfs {
namespace {

/// Returns the key of a file in the store. Fails with kStale if its source has
/// changed, and with kUnsupported if the source's identity is not unique
/// (KeptIdentity).
Result<std::string> KeyOf(const KeptName& name) {
  const int file = name.from->descriptor();
  struct stat st {};
  struct statfs fs {};
  if (::fstat(file, &st) != 0 || ::fstatfs(file, &fs) != 0) {
    return IoError("no file");
  }
  if (FileIdentity::Of(st) != name.from->identity()) {
    return Error{Code::kStale, "has changed"};
  }
  const std::string identity = CTXFS_TRY(KeptIdentity(file, st, fs));
  return fmt::format("kept:{}:{}", identity, name.what);
}

}  // namespace

void RoomMaker::Post() { (void)::eventfd_write(wake_.get(), 1); }

void RoomMaker::Answer() {
  eventfd_t wakes = 0;
  if (::eventfd_read(wake_.get(), &wakes) != 0) return;
  try {
    store_->MakeRoom();
  } catch (...) {
    // Evicting is tried again after the next file that is persisted.
  }
}

Result<std::unique_ptr<FileKeeper>> FileKeeper::Open(
    const std::string& directory, std::unique_ptr<BlockStore> store,
    std::string secret) {
  Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.ok()) return IoError("cannot open " + Quote(directory));
  Fd wake = CTXFS_TRY(decltype(asked_)::MakeWake());
  std::shared_ptr<BlockStore> shared = std::move(store);
  std::unique_ptr<RoomMaker> room;
  if (shared != nullptr) {
    Fd room_wake = CTXFS_TRY(decltype(asked_)::MakeWake());
    room = std::make_unique<RoomMaker>(shared, std::move(room_wake));
  }
  return std::unique_ptr<FileKeeper>(
      new FileKeeper(std::move(opened), std::move(shared), std::move(room),
                     std::move(secret), std::move(wake)));
}

std::string FileKeeper::KeyFor(const KeptName& name) const {
  const FileIdentity of = name.from->identity();
  const std::string text = fmt::format(
      "{}:{}:{}:{}.{}:{}.{}:{}", of.device, of.inode, of.size, of.mtime.seconds,
      of.mtime.nanoseconds, of.ctime.seconds, of.ctime.nanoseconds, name.what);
  KeyedDigest key(secret_);
  key.Update(AsBytes(text));
  return key.Raw();
}

Result<Fd> FileKeeper::Make(uint64_t size) {
  auto made = asked_.Ask({.what = Question::What::kMake, .size = size});
  if (!made) return SystemError("cannot make a temporary file", ETIMEDOUT);
  if (!*made) return std::move(*made).error();
  return std::move((**made).file);
}

void FileKeeper::Post(Question question) {
  try {
    asked_.Post(std::move(question));
  } catch (...) {
    // If a file is not persisted, a later reader materialises it again.
  }
}

void FileKeeper::Keep(const KeptName& name, int file, const std::string& digest,
                      std::shared_ptr<const void> owner) {
  if (store_ == nullptr) return;
  Post({Question::What::kKeep, 0, name, file, digest, std::move(owner)});
}

std::optional<FileKeeper::Kept> FileKeeper::Take(const KeptName& name) {
  if (store_ == nullptr) return std::nullopt;
  auto kept = asked_.Ask({.what = Question::What::kTake, .name = name});
  if (!kept || !*kept) return std::nullopt;
  return std::move(**kept);
}

void FileKeeper::Drop(const KeptName& name, const std::string& digest) {
  if (store_ == nullptr) return;
  Post({Question::What::kDrop, 0, name, -1, digest, nullptr});
}

Result<FileKeeper::Kept> FileKeeper::DoKept(const Question& question,
                                            const std::string& key) const {
  if (question.what == Question::What::kKeep) {
    (void)store_->KeepWhole(key, question.file, question.digest);
    room_->Post();
  } else if (question.what == Question::What::kDrop) {
    store_->DropWhole(key, question.digest);
  } else if (auto found = store_->OpenWhole(key)) {
    struct stat st {};
    if (::fstat(found->file.get(), &st) != 0) return IoError("no file");
    return Kept{std::move(found->file), static_cast<uint64_t>(st.st_size),
                std::move(found->digest)};
  }
  return Error{Code::kNotFound, "nothing is kept"};
}

Result<FileKeeper::Kept> FileKeeper::Do(const Question& question) const {
  if (question.what == Question::What::kMake) {
    Fd made = CTXFS_TRY(MakeUnnamed(directory_, question.size));
    return Kept{std::move(made), question.size, ""};
  }
  const std::string key = CTXFS_TRY(KeyOf(question.name));
  return DoKept(question, key);
}

void FileKeeper::Answer() {
  asked_.AnswerAll(
      [this](const Question& question) -> Result<Kept> {
        return CatchAll<Result<Kept>>([&] { return Do(question); });
      },
      [](const Result<Kept>& /*closed*/) {});
}

}  // namespace ctxfs
