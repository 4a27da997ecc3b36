// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/container_detector.h"

#include <xxhash.h>

#include <cerrno>

#include "core/container/format.h"
#include "core/io/directory.h"
#include "core/io/source.h"

namespace ctxfs {
namespace {

/// Returns whether a failure to probe says nothing about the file: the same
/// probe can succeed the next time.
bool IsTransient(const Error& error) {
  return error.Exhausted() || error.sys_errno == EIO;
}

}  // namespace

// Fails where the file cannot be opened or read.
Result<ContainerDetector::Known> ContainerDetector::Probe(
    const std::string& path, bool directory) {
  // A file that is watched does not look at its path again for each read.
  SourceOptions options;
  options.watch_ctime = !directory;
  const Result<std::shared_ptr<const Source>> source =
      OpenSource(path, options);
  if (!source) return source.error();
  if (directory) {
    const bool container = IsContainerDirectory(**source);
    if (std::optional<Error> shortage = (*source)->Shortage()) {
      return *std::move(shortage);
    }
    return Known{container ? Kind::kContainer : Kind::kDirectory, container};
  }
  Result<Buffer> head = ReadHead(**source);
  if (!head && head.error().code == Code::kStale) {
    // Its ctime alone may have changed.
    const auto renewed = (*source)->Renew();
    if (renewed) head = ReadHead(**renewed);
  }
  if (!head) return head.error();
  return Known{
      IsContainerInPlaceOfFile(head->span()) ? Kind::kContainer : Kind::kFile,
      IsContainer(head->span()), IsContainerIfNamed(head->span())};
}

size_t ContainerDetector::Hash::operator()(const FileIdentity& identity) const {
  return XXH3_64bits(&identity, sizeof(identity));
}

Result<Kind> ContainerDetector::Of(const std::string& path,
                                   const FileIdentity& identity,
                                   bool directory) {
  const Result<Known> known = Find(path, identity, directory);
  if (!known) return known.error();
  return known->kind;
}

Result<bool> ContainerDetector::HoldsContainer(const std::string& path,
                                               const FileIdentity& identity,
                                               std::string_view name) {
  const Result<Known> known = Find(path, identity, /*directory=*/false);
  if (!known) return known.error();
  return known->container ||
         (known->container_if_named && IsContainerName(name));
}

Result<ContainerDetector::Known> ContainerDetector::Find(
    const std::string& path, const FileIdentity& identity, bool directory) {
  // A directory's times change with its names, not with their files' bytes: the
  // answer is not kept.
  if (!directory) {
    const MutexLock lock(mutex_);
    const auto found = known_.find(identity);
    if (found != known_.end()) return found->second;
  }
  const Result<Known> known = Probe(path, directory);
  if (!known && IsTransient(known.error())) return known.error();
  if (!known && directory) return Known{Kind::kDirectory};
  if (!known) return Known{};  // not kept: it may become readable
  if (directory) return *known;
  constexpr size_t kMostKnown = 100'000;
  const MutexLock lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.emplace(identity, *known);
  return *known;
}

}  // namespace ctxfs
