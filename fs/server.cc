// SPDX-License-Identifier: Apache-2.0
#include "fs/server.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/bytes.h"
#include "core/base/text.h"
#include "core/container/documents.h"
#include "core/io/source.h"
#include "core/io/spill_file.h"
#include "core/vfs/log.h"
#include "core/views/view.h"
#include "fs/common/mount_stats.h"

namespace ctxfs {
namespace {

/// `views/` in every container that may have any.
MountedContainers::Extras Extras(const MountOptions& options) {
  return [views = options.views](const std::shared_ptr<const Container>& of) {
    return AttachedViews(of, views);
  };
}

std::unique_ptr<SignalWatch> MakeSignalWatch() {
  Result<std::unique_ptr<SignalWatch>> made = SignalWatch::Make();
  if (made) return std::move(*made);
  Log(LogLevel::kWarning, made.error().Text());
  return nullptr;
}

MountedContainers::Budget BudgetOf(const MountOptions& options) {
  return {.bytes = options.index_bytes};
}

}  // namespace

Server::Server(const MountOptions& options)
    : cache_(options.cache_bytes),
      prefetcher_(cache_, options.cache_bytes),
      shows_xattrs_(options.xattrs),
      verify_at_open_(options.verify == VerifyMode::kOpen),
      timeout_(options.timeout),
      others_(options.AllowsOthers()),
      uid_(options.uid),
      gid_(options.gid),
      uid_given_(options.uid_given),
      gid_given_(options.gid_given),
      umask_(options.umask),
      signals_(MakeSignalWatch()),
      pool_(PoolThreads(options)) {
  // Beside the cache: little where that is small.
  constexpr uint64_t kPart = 8;
  BoundSpareMemory(options.cache_bytes / kPart);
}

Server::Server(std::shared_ptr<const Container> container,
               const MountOptions& options, const OpenOptions& open_options,
               const std::string& name)
    : Server(options) {
  name_ = name;
  files_ = std::make_unique<Namespace>(
      std::move(container), options.flat ? "" : name,
      StatsFile(options.cache_bytes), open_options, Extras(options),
      BudgetOf(options));
  files_->LimitWork({.factor = options.max_expansion});
  files_->SetListMode(options.list);
}

Server::Server(std::unique_ptr<Mirror> mirror, const MountOptions& options,
               const OpenOptions& open_options)
    : Server(options) {
  files_ = std::make_unique<Namespace>(
      std::move(mirror), StatsFile(options.cache_bytes), open_options,
      Extras(options), BudgetOf(options));
  files_->LimitWork({.factor = options.max_expansion});
  files_->SetListMode(options.list);
}

Result<int> Server::OpenSpillFile(const MountOptions& options) {
  const bool given = !options.cache_dir.empty();
  Result<std::shared_ptr<SpillFile>> file = SpillFile::Make(
      given ? options.cache_dir : SpillDirectory(), options.cache_dir_bytes);
  if (file) {
    const int descriptor = (*file)->descriptor();
    cache_.SpillTo(std::move(*file));
    return descriptor;
  }
  if (given) return std::move(file).error();
  Log(LogLevel::kInfo,
      file.error().Text() + ": entries larger than cache= are kept in memory");
  return -1;
}

std::shared_ptr<const FileTable> Server::StatsFile(uint64_t cache_limit) {
  return FreshDocument(
      Role::kMetadata, "stats",
      [this, cache_limit](const ReadContext& context) -> Result<std::string> {
        return stats_.Text(context.cache().stats(), pool_.stats(),
                           files_->Totals().containers,
                           FileSource::AllBytesRead()) +
               DaemonStats(::getpid(), cache_limit);
      },
      /*live=*/true);
}

Permissions Server::Show(const Attributes& attributes) const {
  constexpr mode_t kFile = 0444;
  constexpr mode_t kDirectory = 0555;
  Permissions shown{uid_, gid_, attributes.directory ? kDirectory : kFile};
  if (others_ && attributes.permissions) {
    // Nobody is to read here what its owner does not let him read there.
    const Permissions& made_from = *attributes.permissions;
    if (!uid_given_) shown.uid = made_from.uid;
    if (!gid_given_) shown.gid = made_from.gid;
    shown.bits &= made_from.bits;
  }
  shown.bits = attributes.locked ? 0 : shown.bits & ~umask_;
  return shown;
}

void Server::LogFailure(Inode inode, const Error& error) {
  if (error.code == Code::kInterrupted) return;
  // A reader that tries again and again must not fill the log.
  constexpr size_t kMostRemembered = 10'000;
  {
    const MutexLock lock(mutex_);
    if (logged_.size() >= kMostRemembered) logged_.clear();
    if (!logged_.insert(inode).second) return;
  }
  const std::string where =
      name_.empty()
          ? Quote(files_->Path(inode, cache_))
          : Quote(name_) + ": " + Quote(files_->PathInContainer(inode, cache_));
  if (Log(LogLevel::kError, where + ": " + error.Text())) return;
  // Suppressed by the rate limit: logged when it fails again.
  const MutexLock lock(mutex_);
  logged_.erase(inode);
}

}  // namespace ctxfs
