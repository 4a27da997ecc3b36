// SPDX-License-Identifier: Apache-2.0
#include "core/io/companions.h"

#include <xxhash.h>

#include <cerrno>
#include <utility>

#include "core/io/stamp.h"

namespace ctxfs {

Companions::Map Companions::Known() const {
  const MutexLock lock(mutex_);
  Map known = opened_;
  known.insert(before_.begin(), before_.end());  // adds only missing paths
  return known;
}

Companions::Stamps Companions::Seen() const {
  const MutexLock lock(mutex_);
  return seen_;
}

bool Companions::See(const std::string& path, const Source& file) {
  // If there are too many files, forgets an arbitrary one.
  if (seen_.size() >= kMaxSeen) seen_.erase(seen_.begin());
  const uint64_t stamp = StampOf(file.identity());
  const auto [at, added] =
      seen_.try_emplace(XXH3_64bits(path.data(), path.size()), stamp);
  return added || at->second == stamp;
}

Companions::Opened Companions::Open(const std::string& path,
                                    const std::function<Opened()>& open) {
  asked_ = true;
  Opened opened = open();
  const auto before = before_.find(path);
  if (!opened && before != before_.end() &&
      (opened.error().code == Code::kNotFound ||
       opened.error().sys_errno == ENOENT)) {
    SourcePtr source = before->second.file.lock();
    if (source == nullptr) source = before->second.directory;
    if (source != nullptr) opened = source->Renew();
  }
  if (!opened) return opened;
  Companion companion;
  if ((*opened)->is_directory()) {
    companion.directory = *opened;
  } else {
    companion.file = *opened;
  }
  const MutexLock lock(mutex_);
  if (companion.directory == nullptr && !See(path, **opened)) {
    replaced_ = true;
    return Error{Code::kStale, "the file changed under the mount"};
  }
  opened_.insert_or_assign(path, std::move(companion));
  ForgetClosed();
  return opened;
}

void Companions::ForgetClosed() {
  // A store may have a million files, of which few are open at a time.
  if (opened_.size() < forget_at_) return;
  std::erase_if(opened_, [](const auto& one) {
    return one.second.directory == nullptr && one.second.file.expired();
  });
  forget_at_ = 2 * opened_.size() + kForgetAt;
}

Status Companions::CheckUnchanged() const {
  for (const auto& [path, companion] : Known()) {
    SourcePtr source = companion.file.lock();
    if (source == nullptr) source = companion.directory;
    if (source == nullptr) continue;
    CTXFS_TRY(source->CheckAllUnchanged());
  }
  return {};
}

}  // namespace ctxfs
