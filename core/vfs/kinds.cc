// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/kinds.h"

#include <xxhash.h>

#include <algorithm>
#include <optional>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/io/directory.h"
#include "core/io/source.h"

namespace ctxfs {
namespace {

/// Nothing where it cannot be told: another time it may.
std::optional<Kind> Probe(const std::string& path, bool directory) {
  const Result<std::shared_ptr<const Source>> source = OpenSource(path);
  if (!source) return std::nullopt;
  if (directory) {
    return IsContainerDirectory(**source) ? Kind::kContainer : Kind::kDirectory;
  }
  const Result<Buffer> head = ReadBuffer(
      **source, 0, std::min<uint64_t>((*source)->size(), limits::kProbeBytes),
      "head");
  if (!head) return std::nullopt;
  return IsContainer(head->span()) ? Kind::kContainer : Kind::kFile;
}

}  // namespace

size_t Kinds::Hash::operator()(const FileIdentity& identity) const {
  return XXH3_64bits(&identity, sizeof(identity));
}

Kind Kinds::Of(const std::string& path, const FileIdentity& identity,
               bool directory) {
  // A directory's time tells of its names alone, and not of what they hold.
  if (directory) return Probe(path, directory).value_or(Kind::kDirectory);
  {
    const MutexLock lock(mutex_);
    const auto found = known_.find(identity);
    if (found != known_.end()) return found->second;
  }
  const std::optional<Kind> kind = Probe(path, directory);
  if (!kind) return Kind::kFile;
  constexpr size_t kMostKnown = 100'000;
  const MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(identity, *kind);
  return *kind;
}

}  // namespace ctxfs
