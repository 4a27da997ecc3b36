// SPDX-License-Identifier: Apache-2.0
#include "fs/kinds.h"

#include <xxhash.h>

#include <algorithm>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/io/directory.h"
#include "core/io/source.h"

namespace ctxfs {
namespace {

Kind Probe(const std::string& path, bool directory) {
  const Result<std::shared_ptr<const Source>> source = OpenSource(path);
  if (!source) return directory ? Kind::kDirectory : Kind::kFile;
  if (directory) {
    return IsContainerDirectory(**source) ? Kind::kContainer : Kind::kDirectory;
  }
  const Result<Buffer> head = ReadBuffer(
      **source, 0, std::min<uint64_t>((*source)->size(), limits::kProbeBytes),
      "head");
  return head && IsContainer(head->span()) ? Kind::kContainer : Kind::kFile;
}

}  // namespace

size_t Kinds::Hash::operator()(const FileIdentity& identity) const {
  return XXH3_64bits(&identity, sizeof(identity));
}

Kind Kinds::Of(const std::string& path, const FileIdentity& identity,
               bool directory) {
  // A directory's time tells of its names alone, and not of what they hold.
  if (directory) return Probe(path, directory);
  {
    const MutexLock lock(mutex_);
    const auto found = known_.find(identity);
    if (found != known_.end()) return found->second;
  }
  const Kind kind = Probe(path, directory);
  constexpr size_t kMostKnown = 100'000;
  const MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(identity, kind);
  return kind;
}

}  // namespace ctxfs
