// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/container_detector.h"

#include <xxhash.h>

#include <cerrno>

#include "core/container/format.h"
#include "core/io/source.h"

namespace ctxfs {
namespace {

/// Returns whether a probe failed for a transient reason, so that the error
/// says nothing about the file. EAGAIN: a server does not answer; ENETDOWN:
/// offline.
bool IsTransient(const Error& error) {
  return error.Exhausted() || error.code == Code::kInterrupted ||
         error.sys_errno == EIO || error.sys_errno == EAGAIN ||
         error.sys_errno == ENETDOWN;
}

}  // namespace

// Fails if the file cannot be opened or read.
Result<ContainerDetector::Answer> ContainerDetector::Probe(
    const Directory& in, const Directory::Item& item, const Request& request) {
  // Without watch_ctime, each read would look up the file's path again.
  SourceOptions options;
  options.watch_ctime = !item.directory;
  const SourcePtr source = CTXFS_TRY(in.Open(item, options, request));
  if (item.directory) {
    const Format* const format = FormatOfDirectory(*source, request);
    if (std::optional<Error> shortage = source->Shortage()) {
      return *std::move(shortage);
    }
    const bool in_place = format != nullptr && !format->traits.stays_file;
    return Answer{in_place ? Kind::kContainer : Kind::kDirectory,
                  format != nullptr};
  }
  Result<Buffer> head = ReadHead(*source, request);
  if (!head && head.error().code == Code::kStale) {
    // Perhaps only ctime has changed.
    const auto renewed = source->Renew();
    if (renewed) head = ReadHead(**renewed, request);
  }
  if (!head) return head.error();
  return Answer{
      IsContainerInPlaceOfFile(head->span()) ? Kind::kContainer : Kind::kFile,
      IsContainer(head->span()), IsContainerIfNamed(head->span())};
}

size_t ContainerDetector::Hash::operator()(const FileIdentity& identity) const {
  return XXH3_64bits(&identity, sizeof(identity));
}

Result<Kind> ContainerDetector::Of(const Directory& in,
                                   const Directory::Item& item,
                                   const Request& request) {
  const Answer known = CTXFS_TRY(Find(in, item, request));
  return known.kind;
}

std::optional<Kind> ContainerDetector::Known(
    const Directory::Item& item) const {
  const MutexLock lock(mutex_);
  const auto found = known_.find(item.identity);
  if (found == known_.end()) return std::nullopt;
  return found->second.kind;
}

Result<bool> ContainerDetector::HoldsContainer(const Directory& in,
                                               const Directory::Item& file,
                                               std::string_view name,
                                               const Request& request) {
  const Answer known = CTXFS_TRY(Find(in, file, request));
  return known.container || (known.container_if_named && IsContainerName(name));
}

Result<ContainerDetector::Answer> ContainerDetector::Find(
    const Directory& in, const Directory::Item& item, const Request& request) {
  // The answer for a directory is not cached, because its times do not change
  // when the bytes of its files do.
  if (!item.directory) {
    const MutexLock lock(mutex_);
    const auto found = known_.find(item.identity);
    if (found != known_.end()) return found->second;
  }
  const Result<Answer> known = Probe(in, item, request);
  if (!known && IsTransient(known.error())) return known.error();
  if (!known && item.directory) return Answer{Kind::kDirectory};
  if (!known) return Answer{};  // not cached: it may become readable
  if (item.directory) return *known;
  constexpr size_t kMaxKnown = 100'000;
  const MutexLock lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  known_.emplace(item.identity, *known);
  return *known;
}

}  // namespace ctxfs
