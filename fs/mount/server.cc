// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/server.h"

#include <unistd.h>

#include <chrono>

#include "core/base/bytes.h"
#include "core/base/environment.h"
#include "core/base/text/text.h"
#include "core/cache/block_store.h"
#include "core/container/documents.h"
#include "core/io/source.h"
#include "core/io/spill_file.h"
#include "core/io/stamp.h"
#include "core/io/urls/url.h"
#include "core/vfs/log.h"
#include "core/views/view.h"
#include "fs/common/mount_stats.h"
#include "fs/mount/kept_secret.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {
namespace {

/// Makes a T. Returns null if the process is out of descriptors.
template <typename T, typename... Arguments>
std::unique_ptr<T> MakeOrLog(Arguments&&... arguments) {
  Result<std::unique_ptr<T>> made =
      T::Make(std::forward<Arguments>(arguments)...);
  if (made) return std::move(*made);
  Log(LogLevel::kWarning, made.error().Text());
  return nullptr;
}

/// The environment, overridden by the options.
Environment VariablesOf(const MountOptions& options) {
  return [given = options.remote](const char* name) {
    const auto found = given.find(name);
    return found == given.end() ? EnvironmentVariable(name) : found->second;
  };
}

std::string TemporaryDirectory(const MountOptions& options) {
  return options.cache_dir.empty() ? SpillDirectory() : options.cache_dir;
}

/// Opens the user's cache for persistent files. Fails if the cache cannot be
/// opened, or if the mount shows unverified bytes, which must not outlive it.
Result<std::unique_ptr<BlockStore>> OpenStore(const MountOptions& options) {
  if (options.verify == VerifyMode::kOff || options.salvage) {
    return Error{Code::kUnsupported,
                 "what is not verified (verify=off, salvage) is not"};
  }
  const Environment environment = VariablesOf(options);
  const std::string directory = CacheDirectory(environment);
  if (directory.empty()) {
    return Error{Code::kIo, "there is no cache directory: set cache_dir="};
  }
  return BlockStore::Open(directory, CacheBytes(environment));
}

/// Returns a number that is the same in every mount of the same file until the
/// file is written to. It has 32 bits, because the kernel keeps no more.
uint32_t GenerationOfFiles(const Source& source) {
  return static_cast<uint32_t>(StampOf(source.identity()));
}

std::unique_ptr<Mirror> MakeMirror(Sources sources, const MountOptions& options,
                                   const std::string& mount_point) {
  const Mirror::Options shown{.list_inside = options.list == ListMode::kAll,
                              .lasting = std::chrono::seconds(options.timeout),
                              .opened_by_kernel = options.revalidate > 0};
  const SystemDirectory::Options found{
      .mount_point = mount_point,
      .confined = options.AllowsOthers(),
      // Watching is needed only if the kernel may cache names for more than a
      // second.
      .watched = shown.lasting > std::chrono::seconds(1)};
  return std::make_unique<Mirror>(DirectoryOf(std::move(sources), found),
                                  shown);
}

Result<std::string> SecretOfUser() {
  const std::string path = CTXFS_TRY(KeptSecretPath());
  return KeptSecret(path);
}

}  // namespace

std::unique_ptr<FileKeeper> OpenKeeper(const MountOptions& options) {
  std::string directory = TemporaryDirectory(options);
  std::unique_ptr<BlockStore> store;
  Result<std::string> secret = std::string();
  if (options.cache_keep) {
    Result<std::unique_ptr<BlockStore>> opened = OpenStore(options);
    secret = SecretOfUser();
    if (opened && secret) {
      store = std::move(*opened);
      directory = CacheDirectory(VariablesOf(options));
    } else {
      Log(LogLevel::kWarning,
          "nothing is kept: " +
              (opened ? secret.error() : opened.error()).Text());
    }
  }
  auto keeper = FileKeeper::Open(directory, std::move(store),
                                 secret ? *std::move(secret) : "");
  if (keeper) return std::move(*keeper);
  if (options.materialize_bytes > 0) {
    Log(LogLevel::kWarning,
        "nothing is materialised: " + keeper.error().Text());
  }
  return nullptr;
}

Server::Server(Sources sources, const MountOptions& options,
               const OpenOptions& open_options, const std::string& mount_point,
               FileKeeper* keeper)
    : options_(options),
      others_(options.AllowsOthers()),
      cache_(options.cache_bytes),
      prefetcher_(cache_, options.cache_bytes),
      materialized_files_(cache_),
      signals_(MakeOrLog<SignalWatch>()),
      keeper_(keeper),
      pool_(PoolThreads(options)) {
  // Spare memory comes on top of the cache, so only a fraction is allowed.
  constexpr uint64_t kPart = 8;
  BoundSpareMemory(options.cache_bytes / kPart);
  const MountedContainers::Extras extras =
      [views = options.views](const std::shared_ptr<const Container>& of) {
        return AttachedViews(of, views);
      };
  const MountedContainers::Budget budget =
      BudgetFor(sources, options.index_bytes);
  Shown shown{.stats = StatsFile(),
              .open = open_options,
              .work_limit = work_limit(),
              .list_mode = options.list,
              .extras = extras,
              .budget = budget};
  if (sources.container != nullptr) {
    generation_ = GenerationOfFiles(*sources.container->source());
    name_ = BaseName(options.sources.front());
    shown.container = std::move(sources.container);
    shown.name = options.flat ? "" : name_;
  } else {
    shown.mirror = MakeMirror(std::move(sources), options, mount_point);
    mirror_ = shown.mirror.get();
  }
  if (options.passthrough != Passthrough::kOff) {
    backing_files_ = MakeOrLog<BackingFiles>();
  }
  if (options.revalidate > 0) {
    readers_ = MakeOrLog<ReaderWatch>(
        [this](uint64_t thread) { pool_.GiveUpAllOf(thread); });
  }
  files_ = std::make_unique<Namespace>(std::move(shown));
  inode_files_.emplace(*files_, materialized_files_);
}

std::vector<Questions*> Server::questions() const {
  std::vector<Questions*> all;
  if (signals_ != nullptr) all.push_back(signals_.get());
  if (backing_files_ != nullptr) all.push_back(backing_files_.get());
  if (container_watch_ != nullptr) all.push_back(container_watch_.get());
  if (readers_ != nullptr) all.push_back(readers_.get());
  if (keeper_ != nullptr) all.push_back(keeper_);
  if (keeper_ != nullptr && keeper_->room() != nullptr) {
    all.push_back(keeper_->room());
  }
  return all;
}

void Server::TellChanges(Mirror::Changed changed) {
  if (mirror_ != nullptr) mirror_->TellChanges(std::move(changed));
}

void Server::StopTelling() {
  if (mirror_ != nullptr) mirror_->StopTelling();
}

void Server::WatchContainer() {
  if (options_.revalidate == 0 || mirror_ != nullptr ||
      IsUrl(options_.sources.front())) {
    return;
  }
  auto watch = ContainerWatch::Make(options_.sources.front(), [this] {
    for (const Inode file : inode_files_->WithPages()) ForgetAttributes(file);
  });
  if (watch) {
    container_watch_ = std::move(*watch);
    if (options_.revalidate_auto) inode_files_->set_changes_reported();
  } else {
    Log(LogLevel::kInfo, watch.error().Text());
  }
}

void Server::DropPagesBy(std::function<void(Inode)> drop) {
  BackingFiles* const files = backing_files_.get();
  if (files == nullptr || !files->enabled()) return;
  materialized_files_.DropPagesBy(
      [files, drop = std::move(drop)](Inode inode, const SourcePtr& made) {
        return files->WhileUnused(inode, made, [&] { drop(inode); });
      });
}

Result<int> Server::OpenSpillFile() {
  const bool given = !options_.cache_dir.empty();
  const std::string directory = TemporaryDirectory(options_);
  Result<std::shared_ptr<SpillFile>> file =
      SpillFile::Make(directory, options_.cache_dir_bytes);
  if (file) {
    spill_file_ = std::move(*file);
    cache_.SpillTo(spill_file_);
    return spill_file_->descriptor();
  }
  if (given) return std::move(file).error();
  Log(LogLevel::kInfo,
      file.error().Text() + ": entries larger than cache= are kept in memory");
  return -1;
}

Status Server::EnablePassthrough(int device) {
  Status enabled = Error{Code::kUnsupported, "passthrough=off"};
  if (backing_files_ != nullptr) enabled = backing_files_->Enable(device);
  MakeFiles(enabled.has_value());
  if (enabled || options_.passthrough == Passthrough::kOn) return enabled;
  Log(LogLevel::kInfo, "no passthrough: " + enabled.error().Text());
  return {};
}

void Server::MakeFiles(bool passthrough) {
  const uint64_t most = options_.materialize_bytes;
  if (keeper_ == nullptr || spill_file_ == nullptr) return;
  if (passthrough) spill_file_->MakeFilesBy(*keeper_);
  if (most == 0) return;
  if (!options_.key_file.empty()) {
    Log(LogLevel::kWarning,
        "nothing is materialised: entries that a key file decrypts are not "
        "written to a disk");
    return;
  }
  materialized_files_.WriteTo(
      SpillFile::OfFiles(TemporaryDirectory(options_), most, *keeper_),
      passthrough);
  materialized_files_.NameBy([this](Inode inode, const ReadContext& context) {
    return files_->PathInFile(inode, context);
  });
  materialized_files_.Only(options_.materialize_only);
  if (options_.cache_keep) materialized_files_.KeepIn(*keeper_);
}

Stats::Others Server::OthersFor(const ReadContext& context) const {
  const BackingFiles* const files = backing_files_.get();
  return {.cache = context.cache().stats(),
          .pool = pool_.stats(),
          .containers = files_->Totals().containers,
          .bytes = FileSource::AllBytesRead(),
          .made = materialized_files_.stats(),
          .passthrough = files != nullptr && files->enabled(),
          .passthrough_opens = files != nullptr ? files->opened() : 0};
}

std::shared_ptr<const FileTable> Server::StatsFile() {
  return FreshDocument(
      Role::kMetadata, "stats",
      [this](const ReadContext& context) -> Result<std::string> {
        return stats_.Text(OthersFor(context)) +
               DaemonStats(::getpid(), options_.cache_bytes) + FetcherStats();
      },
      /*live=*/true);
}

Permissions Server::Show(const Attributes& attributes) const {
  constexpr mode_t kFile = 0444;
  constexpr mode_t kDirectory = 0555;
  constexpr mode_t kLink = 0777;  // the kernel does not check it
  Permissions shown{options_.uid, options_.gid,
                    attributes.directory ? kDirectory : kFile};
  if (others_ && attributes.permissions) {
    // Contents are readable only for those who may read the container.
    const Permissions& made_from = *attributes.permissions;
    if (!options_.uid_given) shown.uid = made_from.uid;
    if (!options_.gid_given) shown.gid = made_from.gid;
    shown.bits &= made_from.bits;
  }
  if (options_.modes && attributes.mode) {
    // Contents are executable for those who may read the container.
    const mode_t execute = (shown.bits & kFile) >> 2;
    shown.bits = (shown.bits | execute) & *attributes.mode;
  }
  shown.bits = attributes.locked ? 0 : shown.bits & ~options_.umask;
  if (attributes.link) shown.bits = kLink;
  return shown;
}

void Server::LogFailure(Inode inode, const Error& error) {
  if (error.code == Code::kInterrupted) return;
  // Repeated attempts of a reader must not fill the log.
  constexpr size_t kMaxRemembered = 10'000;
  {
    const MutexLock lock(mutex_);
    if (logged_.size() >= kMaxRemembered) logged_.clear();
    if (!logged_.insert(inode).second) return;
  }
  const std::string where =
      name_.empty()
          ? Quote(files_->Path(inode, cache_))
          : Quote(name_) + ": " + Quote(files_->PathInContainer(inode, cache_));
  if (Log(LogLevel::kError, where + ": " + error.Text())) return;
  // The rate limit suppressed the message, so the next failure must be logged.
  const MutexLock lock(mutex_);
  logged_.erase(inode);
}

}  // namespace ctxfs
