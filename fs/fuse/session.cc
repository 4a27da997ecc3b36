// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/session.h"

#include <fuse_lowlevel.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text/text.h"
#include "core/container/format.h"
#include "core/io/descriptors.h"
#include "core/io/mount_guard.h"
#include "core/io/source.h"
#include "core/io/urls/url.h"
#include "core/io/walk.h"
#include "core/vfs/key_file.h"
#include "core/vfs/sources.h"
#include "fs/commands/confine.h"
#include "fs/fuse/loop.h"
#include "fs/fuse/ops.h"
#include "fs/kernel/address_space.h"
#include "fs/kernel/kernel_names.h"
#include "fs/kernel/mapped_direct_io.h"
#include "fs/log/relay.h"
#include "fs/mount/mount_point.h"
#include "fs/mount/refusal.h"
#include "fs/mount/revalidation.h"
#include "fs/mount/server.h"
#include "fs/remote/fetcher_process.h"
#include "fs/sandbox/confinement.h"

namespace ctxfs {
namespace {

/// A mounted FUSE session. The destructor unmounts it.
class Session {
 public:
  explicit Session(fuse_session* session) : session_(session) {}
  ~Session() {
    if (mounted_) fuse_session_unmount(session_);
    fuse_remove_signal_handlers(session_);
    fuse_session_destroy(session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  fuse_session* get() { return session_; }
  bool Mount(MountPoint& point) {
    (void)point.Restore();
    mounted_ = MountAt(point) || (point.Restore() && MountAt(point));
    return mounted_;
  }

 private:
  bool MountAt(const MountPoint& point) {
    return fuse_session_mount(session_, point.path().c_str()) == 0;
  }

  fuse_session* session_;
  bool mounted_ = false;
};

/// Escapes a path for a mount option: otherwise a comma or backslash in a
/// file's name could add options.
std::string EscapeOption(const std::string& value) {
  std::string escaped;
  for (const char c : value) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// The source as mount(8) and `ctxfs mounts` show it: an absolute path, or a
/// URL without its query.
std::string ShownSource(const MountOptions& options) {
  const std::string& source = options.sources.front();
  if (IsUrl(source)) return WithoutQuery(source);
  std::error_code failed;
  const std::string path = std::filesystem::absolute(source, failed);
  return failed ? source : path;
}

/// Makes a session of libfuse; null if libfuse refuses.
fuse_session* NewSession(const MountOptions& options, Server& server) {
  std::vector<std::string> words = {
      "ctxfs", "-oro,nosuid,nodev,default_permissions,subtype=ctxfs"};
  words.push_back("-ofsname=" + EscapeOption(ShownSource(options)));
  for (const std::string& option : options.fuse_options) {
    words.push_back("-o" + option);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(argv.size()), argv.data());
  fuse_session* const session = fuse_session_new(
      &args, &ops::Operations(), sizeof(ops::Operations()), &server);
  fuse_opt_free_args(&args);
  return session;
}

/// Answers FUSE_INIT, the kernel's first request, before other threads start.
/// The mount then works.
bool AnswerInit(fuse_session* session, Server& server) {
  WatchInit(session);
  fuse_buf buffer{};
  const int got = fuse_session_receive_buf(session, &buffer);
  if (got > 0) {
    NoteInit(server, buffer);
    fuse_session_process_buf(session, &buffer);
  }
  std::free(buffer.mem);
  return got > 0;
}

/// The files that serving `sources` may open. Containers can name files beside
/// and below themselves, and mirrored directories change.
Confinement ConfinementOf(const Sources& sources, const MountOptions& options) {
  // Serving URLs needs no file but the device, because another process fetches
  // them.
  if (IsUrl(options.sources.front())) {
    return {.trees = {}, .container = "/dev/fuse", .channel = FetcherChannel()};
  }
  std::error_code failed;
  if (sources.container != nullptr) {
    const std::filesystem::path path =
        std::filesystem::canonical(options.sources.front(), failed);
    if (failed) return {};
    const std::vector<std::string> trees = TreesOf(options.sources.front());
    if (sources.container->source()->is_directory()) return {trees, ""};
    return {trees, path};
  }
  Confinement confinement;
  confinement.measures = true;
  confinement.watches = options.timeout > 1;
  // Without allow_other, links in a mirrored directory may lead anywhere.
  if (!options.AllowsOthers()) {
    confinement.trees = {"/"};
    return confinement;
  }
  if (sources.tops.empty()) confinement.trees = {sources.directory};
  for (const SystemDirectory::Top& top : sources.tops) {
    for (std::string& tree : TreesOf(top.path)) {
      confinement.trees.push_back(std::move(tree));
    }
  }
  return confinement;
}

/// Keeps this process from entering ctxfs mounts, except those of the sources.
void GuardMounts(const std::vector<std::string>& sources) {
  for (const std::string& source : sources) (void)PermitPath(source);
  if (const Status started = MountGuard::Start(); !started) {
    Log(LogLevel::kWarning,
        "other ctxfs mounts cannot be recognised: " + started.error().Text());
  }
}

/// Returns the options with which containers are opened. Fails if the key file
/// cannot be read.
Result<OpenOptions> OpenOptionsOf(const MountOptions& options) {
  OpenOptions open;
  open.verify = options.verify != VerifyMode::kOff;
  open.salvage = options.salvage;
  open.watch_ctime = true;
  if (options.AllowsOthers()) open.access = AccessScope::kEveryone;
  if (!options.key_file.empty()) {
    open.key =
        CTXFS_TRY(ReadKeyFile(options.key_file, options.insecure_key_file));
  }
  return open;
}

/// Runs `parse`, which parses untrusted bytes before the mount exists, in a
/// confined thread. Meanwhile this thread answers the questions of `keeper`,
/// which may be null.
void ParseConfined(const MountOptions& options, FileKeeper* keeper,
                   const std::function<void()>& parse) {
  constexpr std::chrono::milliseconds kMoment(5);
  const LeavingLinks links =
      options.AllowsOthers() ? LeavingLinks::kRefused : LeavingLinks::kFollowed;
  std::future<void> parsed = std::async(std::launch::async, [&] {
    if (options.sandbox) ConfineToReading(options.sources, links);
    parse();
  });
  while (keeper != nullptr &&
         parsed.wait_for(kMoment) != std::future_status::ready) {
    keeper->Answer();
  }
  parsed.get();
}

ExitCode ServeSession(const MountOptions& options, Server& server,
                      MountPoint& mount_point,
                      const std::optional<Confinement>& confinement,
                      const std::shared_ptr<LogRelay>& relay,
                      const std::function<void()>& ready) {
  fuse_session* const raw = NewSession(options, server);
  if (raw == nullptr) return ExitCode::kFuse;
  Session session(raw);
  const bool mounted =
      fuse_set_signal_handlers(raw) == 0 && session.Mount(mount_point);
  if (!mounted || !AnswerInit(raw, server)) {
    // A signal or umount before serving starts is no failure, like one that
    // arrives while serving.
    if (mounted && ::fuse_session_exited(raw) != 0) return ExitCode::kOk;
    return EndWith(ExitCode::kFuse, "mount point " + Quote(mount_point.path()) +
                                        ": FUSE refused the mount: " +
                                        WhyRefused(options.AllowsOthers()));
  }
  if (options.readahead != 0) {
    const Status set = SetReadahead(mount_point.path(), options.readahead);
    if (!set) Log(LogLevel::kWarning, "readahead: " + set.error().Text());
  }
  if (const Status enabled = server.EnablePassthrough(::fuse_session_fd(raw));
      !enabled) {
    return EndWith(ExitCode::kFuse,
                   "passthrough=on: " + enabled.error().Text());
  }
  const Result<std::shared_ptr<const KernelNames>> names =
      KernelNames::Of(::fuse_session_fd(raw));
  if (!names) return EndWith(ExitCode::kFuse, names.error().Text());
  const auto& known = *names;
  Log(LogLevel::kInfo, Quote(WithoutQuery(options.sources.front())) +
                           " is mounted at " + mount_point.path());
  ready();
  server.TellChanges([known](Inode directory, const std::string& name) {
    if (name.empty()) return known->ForgetAttributes(directory);
    known->Forget(directory, name);
  });
  server.ForgetAttributesBy(
      [known](Inode file) { known->ForgetAttributes(file); });
  server.DropPagesBy([known](Inode file) { known->DropPages(file); });
  const std::vector<Questions*> questions = server.questions();
  const bool served = RunLoop(raw, ThreadCount(options), confinement, relay,
                              questions, [&server] {
                                server.StopTelling();
                                server.materialized_files().Stop();
                                server.pool().Stop();
                              });
  return served ? ExitCode::kOk : ExitCode::kFuse;
}

/// Creates the server of `sources` and serves them; messages name `source`.
/// `keeper` may be null.
ExitCode ServeSources(MountOptions options, const OpenOptions& open_options,
                      FileKeeper* keeper, Sources sources,
                      const std::string& source,
                      const std::function<void()>& ready) {
  Result<MountPoint> mount_point =
      MountPoint::Prepare(options.mount_point, options.nonempty);
  if (!mount_point) {
    return EndWith(ExitCode::kMountPoint, mount_point.error().Text());
  }

  ChooseRevalidation(sources, options);
  GuardMounts(options.sources);
  if (sources.container == nullptr && options.timeout > 1) {
    SetPathCheckInterval(std::chrono::seconds(options.timeout));
  }
  Descriptors::RaiseLimit(ThreadCount(options));
  Result<std::unique_ptr<LogRelay>> relay = LogRelay::Make({});
  if (!relay) return EndWith(ExitCode::kFuse, relay.error().Text());
  std::optional<Confinement> confinement;
  if (options.sandbox) confinement = ConfinementOf(sources, options);
  std::optional<Server> made;
  ParseConfined(options, keeper, [&] {
    made.emplace(std::move(sources), options, open_options, mount_point->path(),
                 keeper);
  });
  Server& server = *made;
  server.WatchContainer();
  const Result<int> spill_file = server.OpenSpillFile();
  if (!spill_file) {
    return EndWith(ExitCode::kSource, spill_file.error().Text());
  }
  if (confinement) confinement->spill_file = *spill_file;
  if (const Status shown = server.files().status(); !shown) {
    return EndWith(ExitCodeOf(shown.error()),
                   Quote(source) + ": " + shown.error().Text());
  }
  return ServeSession(options, server, *mount_point, confinement,
                      std::shared_ptr<LogRelay>(std::move(*relay)), ready);
}

}  // namespace

ExitCode Serve(const MountOptions& options,
               const std::function<void()>& ready) {
  const uint64_t threads = ThreadCount(options) + PoolThreads(options);
  if (Status room = CheckAddressSpace(options.cache_bytes, threads); !room) {
    return EndWith(ExitCode::kLimit, room.error().Text());
  }
  Result<OpenOptions> options_of_files = OpenOptionsOf(options);
  if (!options_of_files) {
    return EndWith(ExitCode::kKey, Quote(options.key_file) + ": " +
                                       options_of_files.error().Text());
  }
  OpenOptions& open_options = *options_of_files;
  const std::unique_ptr<FileKeeper> keeper = OpenKeeper(options);
  if (options.cache_keep) open_options.kept = keeper.get();
  if (Status ready = StartFetcher(options.sources, options.remote); !ready) {
    return EndWith(ExitCode::kSource,
                   Quote(ShownSource(options)) + ": " + ready.error().Text());
  }
  std::string source;
  Result<Sources> sources = Error{};
  ParseConfined(options, keeper.get(), [&] {
    sources = FindSources(options.sources, open_options, &source,
                          options.index_bytes);
  });
  if (!sources) {
    return EndWith(ExitCodeOf(sources.error()),
                   Quote(WithoutQuery(source)) + ": " + sources.error().Text());
  }
  return ServeSources(options, open_options, keeper.get(), *std::move(sources),
                      source, ready);
}

}  // namespace ctxfs
