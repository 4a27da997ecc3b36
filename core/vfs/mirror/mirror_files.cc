// SPDX-License-Identifier: Apache-2.0
//
// Open files of a Mirror, and their openings.
#include <fmt/core.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>

#include "core/vfs/mirror/mirror.h"

namespace ctxfs {
Result<Mirror::Node> Mirror::Examine(Inode inode,
                                     const Request& request) const {
  Result<Found> found = Find(inode, request);
  if (found) return std::move(found->node);
  if (found.error().code != Code::kStale) return std::move(found).error();
  const SourcePtr source = OpenedAt(inode);
  struct stat st {};
  if (source == nullptr || ::fstat(source->descriptor(), &st) != 0) {
    return std::move(found).error();
  }
  return Node{
      .inode = inode,
      .identity = FileIdentity::Of(st),
      .permissions = Permissions{st.st_uid, st.st_gid, st.st_mode & 0444},
      .names = static_cast<uint32_t>(st.st_nlink)};
}

Result<bool> Mirror::HoldsContainer(Inode inode, const Source& source,
                                    const Request& request) const {
  std::string name;
  {
    const MutexLock lock(mutex_);
    const auto found = held_.find(inode);
    if (found == held_.end()) return FileIsGone();
    name = found->second.name;
  }
  Directory::Item item;
  item.identity = source.identity();
  item.path = fmt::format("/proc/self/fd/{}", source.descriptor());
  return detector_.HoldsContainer(*directory_, item, name, request);
}

void Mirror::NoteSource(Inode inode, const SourcePtr& source) {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found == held_.end()) return;
  auto& sources = found->second.sources;
  std::erase_if(sources, [](const auto& one) { return one.expired(); });
  sources.push_back(source);
  NoteOpenNames(inode, found->second);
}

void Mirror::NoteOpenNames(Inode inode, const Held& held) {
  // Changes are reported only with a timeout of more than a second.
  if (options_.lasting <= std::chrono::seconds(1)) return;
  for (Name& name : held.Names()) open_names_.emplace(std::move(name), inode);
}

std::vector<Inode> Mirror::OpenedBy(const Name& name) const {
  std::vector<Inode> files;
  const MutexLock lock(mutex_);
  for (auto at = open_names_.lower_bound({name, 0});
       at != open_names_.end() && at->first == name; ++at) {
    files.push_back(at->second);
  }
  return files;
}

SourcePtr Mirror::OpenedAt(Inode inode) const {
  const MutexLock lock(mutex_);
  const auto found = held_.find(inode);
  if (found == held_.end()) return nullptr;
  for (const auto& one : found->second.sources) {
    if (SourcePtr source = one.lock()) return source;
  }
  return nullptr;
}

SourcePtr Mirror::OpenedByKernel(Inode inode) const {
  return options_.opened_by_kernel ? OpenedAt(inode) : nullptr;
}

void Mirror::NoteRetry(Inode inode, uint64_t caller) {
  constexpr size_t kMaxRetries = 64;
  const MutexLock lock(mutex_);
  const auto held = held_.find(inode);
  if (held == held_.end() || held->second.node.kind != Kind::kFile) return;
  if (retries_.size() >= kMaxRetries) retries_.clear();
  retries_.insert_or_assign(
      caller, Retry{{held->second.parent, held->second.name}, Clock::now()});
}

void Mirror::NoteFound(const Name& name, Found found, uint64_t caller) {
  if (retries_.empty()) return;
  const auto retry = retries_.find(caller);
  if (retry == retries_.end() || retry->second.name != name) return;
  retry->second.found = std::make_shared<const Found>(std::move(found));
}

Mirror::FoundPtr Mirror::FoundAgain(Inode inode, uint64_t caller) const {
  constexpr std::chrono::milliseconds kMoment(250);
  const MutexLock lock(mutex_);
  const auto at = retries_.find(caller);
  if (at == retries_.end() || at->second.found == nullptr) return nullptr;
  const Retry& retry = at->second;
  const bool good =
      retry.found->node.inode == inode && Clock::now() - retry.since <= kMoment;
  return good ? retry.found : nullptr;
}

void Mirror::EndRetry(uint64_t caller) {
  const MutexLock lock(mutex_);
  if (!retries_.empty()) retries_.erase(caller);
}

Result<Mirror::FoundPtr> Mirror::FindToOpen(Inode inode,
                                            const Request& request) {
  Result<Found> named = Find(inode, request);
  if (named) {
    EndRetry(request.caller());
    return std::make_shared<const Found>(std::move(*named));
  }
  if (named.error().code != Code::kStale) return std::move(named).error();
  if (FoundPtr found = FoundAgain(inode, request.caller())) return found;
  NoteRetry(inode, request.caller());
  return std::move(named).error();
}

std::optional<struct statvfs> Mirror::FileSystemOf(Inode inode) const {
  return directory_->FileSystemOf((inode & kBit) == 0 ? "" : PathOf(inode));
}

}  // namespace ctxfs
