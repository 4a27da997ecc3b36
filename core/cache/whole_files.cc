// SPDX-License-Identifier: Apache-2.0
//
// Whole files of a BlockStore.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/text/text.h"
#include "core/cache/block_files.h"
#include "core/cache/block_store.h"
#include "core/codec/crypto/digest.h"

namespace ctxfs {
namespace {

std::string NameOf(const std::string& digest) {
  return std::string(block_files::kWhole) + digest;
}

}  // namespace

std::optional<BlockStore::Whole> BlockStore::OpenWhole(const std::string& key) {
  const MutexLock lock(mutex_);
  Object* const object = Find(DigestOf(key), /*create=*/false);
  if (object == nullptr) return std::nullopt;
  const int directory = object->directory.get();
  std::optional<Whole> found;
  block_files::ForEachFile(directory, [&](const block_files::File& file) {
    const auto digest = block_files::DigestInName(file.name);
    if (!digest || found) return;
    Fd opened = block_files::OpenRegular(directory, file.name.c_str());
    if (!opened.ok()) return;
    // Marks the file as used now.
    (void)::futimens(opened.get(), nullptr);
    found = Whole{std::move(opened), *digest};
  });
  return found;
}

bool BlockStore::KeepWhole(const std::string& key, int file,
                           const std::string& digest) {
  const MutexLock lock(mutex_);
  struct stat st {};
  Object* const object = Find(DigestOf(key), /*create=*/true);
  if (object == nullptr || ::fstat(file, &st) != 0) return false;
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const int linked = ::linkat(AT_FDCWD, path.c_str(), object->directory.get(),
                              NameOf(digest).c_str(), AT_SYMLINK_FOLLOW);
  if (linked != 0) return errno == EEXIST;
  unseen_ += static_cast<uint64_t>(st.st_size);
  return true;
}

void BlockStore::DropWhole(const std::string& key, const std::string& digest) {
  const MutexLock lock(mutex_);
  Object* const object = Find(DigestOf(key), /*create=*/false);
  if (object == nullptr) return;
  (void)::unlinkat(object->directory.get(), NameOf(digest).c_str(), 0);
}

}  // namespace ctxfs
