// SPDX-License-Identifier: Apache-2.0
#include "fs/session.h"

#include <fuse_lowlevel.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/container/format.h"
#include "core/io/directory.h"
#include "core/tree/safe_name.h"
#include "fs/key_file.h"
#include "fs/mount_point.h"
#include "fs/open_container.h"
#include "fs/ops.h"
#include "fs/sandbox.h"
#include "fs/server.h"

namespace ctxfs {
namespace {

/// Arguments as libfuse wants them.
class FuseArgs {
 public:
  ~FuseArgs() { fuse_opt_free_args(&args_); }
  FuseArgs() = default;
  FuseArgs(const FuseArgs&) = delete;
  FuseArgs& operator=(const FuseArgs&) = delete;

  void Add(const std::string& arg) {
    if (fuse_opt_add_arg(&args_, arg.c_str()) != 0) throw std::bad_alloc();
  }
  fuse_args* get() { return &args_; }

 private:
  fuse_args args_ = FUSE_ARGS_INIT(0, nullptr);
};

/// A mounted FUSE session, unmounted at the end of its life.
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
  bool Mount(const std::string& path) {
    mounted_ = fuse_session_mount(session_, path.c_str()) == 0;
    return mounted_;
  }

 private:
  fuse_session* session_;
  bool mounted_ = false;
};

/// A path as the value of a mount option: commas and backslashes would end it
/// and let a file's name set options of its own.
std::string EscapeOption(const std::string& value) {
  std::string escaped;
  for (const char c : value) {
    if (c == ',' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void FillArgs(const MountOptions& options, FuseArgs& args) {
  args.Add("ctxfs");
  args.Add("-oro,nosuid,nodev,default_permissions,subtype=ctxfs");
  args.Add("-ofsname=" + EscapeOption(options.sources.front()));
  for (const std::string& option : options.fuse_options) {
    args.Add("-o" + option);
  }
}

unsigned ThreadCount(const MountOptions& options) {
  constexpr unsigned kLeast = 4;
  if (options.threads != 0) return options.threads;
  return std::max(std::thread::hardware_concurrency(), kLeast);
}

/// Answers the kernel's first request here, before there are threads: after it
/// the mount works.
bool AnswerInit(fuse_session* session) {
  fuse_buf buffer{};
  const int got = fuse_session_receive_buf(session, &buffer);
  if (got > 0) fuse_session_process_buf(session, &buffer);
  std::free(buffer.mem);
  return got > 0;
}

/// Serves until unmounted or signalled. The number of a signal is no failure.
bool Loop(fuse_session* session, unsigned threads) {
  fuse_loop_config* config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, threads);
  fuse_loop_cfg_set_idle_threads(config, threads);
  const int ended = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  return ended >= 0;
}

/// The same, in a thread that can do no more than it takes. The thread that
/// waits for it is the one that will unmount: for that it needs what the other
/// gives up. Signals go to the one that serves.
bool LoopInSandbox(fuse_session* session, unsigned threads,
                   const std::vector<std::string>& trees) {
  sigset_t ending;
  sigset_t before;
  sigemptyset(&ending);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    sigaddset(&ending, number);
  }
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  bool served = false;
  std::thread server([&] {
    const Result<int> sandbox = EnterSandbox(trees);
    if (!sandbox) {
      Log(LogLevel::kWarning, "no sandbox: " + sandbox.error().Text());
    } else if (*sandbox == 0) {
      Log(LogLevel::kInfo, "no sandbox: the kernel has no Landlock");
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    served = Loop(session, threads);
  });
  // root needs no helper to unmount; others execute fusermount3, set-uid.
  if (::geteuid() == 0) DenyNewPrivileges();
  server.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return served;
}

std::string BaseName(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

/// What is served: a container, or directories with containers in them.
struct Sources {
  std::shared_ptr<const Container> container;  // null: the tops
  std::vector<Mirror::Top> tops;               // none: the directory
  std::string directory;                       // absolute
};

/// Whether `path` is a directory, and neither a container nor meant as one.
bool IsPlainDirectory(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  const Result<std::shared_ptr<const Source>> directory = OpenSource(path);
  return !directory || !(IsContainerDirectory(**directory) ||
                         ResemblesContainer(**directory));
}

/// The daemon changes its directory.
Result<std::string> AbsolutePath(const std::string& path) {
  std::error_code failed;
  std::string absolute = std::filesystem::absolute(path, failed);
  if (failed) return Error{Code::kIo, failed.message()};
  while (absolute.size() > 1 && absolute.back() == '/') absolute.pop_back();
  return absolute;
}

/// Whether a source among several is anything that can be shown.
Status CheckTop(const std::string& path) {
  const Result<std::shared_ptr<const Source>> source = OpenSource(path);
  if (!source) return source.error();
  if ((*source)->is_directory()) return {};
  const Result<Buffer> head = ReadBuffer(
      **source, 0, std::min<uint64_t>((*source)->size(), limits::kProbeBytes),
      "head");
  if (!head) return head.error();
  if (IsContainer(head->span())) return {};
  return Error{Code::kNotContainer, "is not a container of a known format"};
}

/// `failed` is the source that an Error is about.
Result<Sources> FindSources(const MountOptions& options,
                            const OpenOptions& open_options,
                            std::string* failed) {
  Sources sources;
  const std::string& first = *failed = options.sources.front();
  if (options.sources.size() == 1 && IsPlainDirectory(first)) {
    Result<std::string> path = AbsolutePath(first);
    if (!path) return std::move(path).error();
    sources.directory = std::move(*path);
    return sources;
  }
  if (options.sources.size() == 1) {
    Result<std::shared_ptr<const Container>> container =
        OpenContainerFile(first, open_options);
    if (!container) return std::move(container).error();
    sources.container = std::move(*container);
    return sources;
  }
  std::set<std::string> names;
  for (const std::string& source : options.sources) {
    *failed = source;
    if (Status shown = CheckTop(source); !shown) return shown.error();
    Result<std::string> path = AbsolutePath(source);
    if (!path) return std::move(path).error();
    const std::string name = SafeComponent(BaseName(*path));
    std::string free = name;
    for (unsigned n = 2; !names.insert(free).second; ++n) {
      free = MarkedComponent(name, "~" + std::to_string(n), true);
    }
    sources.tops.push_back({std::move(free), std::move(*path)});
  }
  return sources;
}

bool AllowsOthers(const MountOptions& options) {
  return std::any_of(options.fuse_options.begin(), options.fuse_options.end(),
                     [](const std::string& option) {
                       return option.starts_with("allow_");
                     });
}

/// The directories whose files serving `sources` may take: containers name
/// files beside and below them, mirrored directories have more of them.
std::vector<std::string> TreesOf(const Sources& sources,
                                 const MountOptions& options) {
  std::error_code failed;
  if (sources.container != nullptr) {
    const std::filesystem::path path =
        std::filesystem::canonical(options.sources.front(), failed);
    if (failed) return {};
    const bool directory = sources.container->source()->is_directory();
    return {directory ? path.string() : path.parent_path().string()};
  }
  // Links in a mirrored directory may lead anywhere, unless others see them.
  if (!AllowsOthers(options)) return {"/"};
  if (sources.tops.empty()) return {sources.directory};
  std::vector<std::string> trees;
  for (const Mirror::Top& top : sources.tops) trees.push_back(top.path);
  return trees;
}

std::unique_ptr<Server> MakeServer(Sources sources, const MountOptions& options,
                                   const OpenOptions& open_options,
                                   const std::string& mount_point) {
  if (sources.container != nullptr) {
    return std::make_unique<Server>(std::move(sources.container), options,
                                    open_options,
                                    BaseName(options.sources.front()));
  }
  const Mirror::Options shown{mount_point, AllowsOthers(options)};
  auto mirror = sources.tops.empty()
                    ? std::make_unique<Mirror>(sources.directory, shown)
                    : std::make_unique<Mirror>(std::move(sources.tops), shown);
  return std::make_unique<Server>(std::move(mirror), options, open_options);
}

}  // namespace

ExitCode Serve(const MountOptions& options,
               const std::function<void()>& ready) {
  OpenOptions open_options;
  open_options.verify = options.verify != VerifyMode::kOff;
  open_options.salvage = options.salvage;
  if (!options.key_file.empty()) {
    Result<std::shared_ptr<const MasterKey>> key =
        ReadKeyFile(options.key_file, options.insecure_key_file);
    if (!key) {
      Log(LogLevel::kError,
          Quote(options.key_file) + ": " + key.error().Text());
      return ExitCode::kKey;
    }
    open_options.key = std::move(*key);
  }
  std::string source;
  Result<Sources> sources = FindSources(options, open_options, &source);
  if (!sources) {
    Log(LogLevel::kError, Quote(source) + ": " + sources.error().Text());
    return ExitCodeOf(sources.error());
  }
  Result<MountPoint> mount_point = MountPoint::Prepare(options.mount_point);
  if (!mount_point) {
    Log(LogLevel::kError, mount_point.error().Text());
    return ExitCode::kMountPoint;
  }

  const std::vector<std::string> trees = TreesOf(*sources, options);
  const std::unique_ptr<Server> server = MakeServer(
      std::move(*sources), options, open_options, mount_point->path());
  FuseArgs args;
  FillArgs(options, args);
  fuse_session* raw = fuse_session_new(args.get(), &Operations(),
                                       sizeof(Operations()), server.get());
  if (raw == nullptr) return ExitCode::kFuse;
  Session session(raw);
  if (fuse_set_signal_handlers(raw) != 0 ||
      !session.Mount(mount_point->path()) || !AnswerInit(raw)) {
    Log(LogLevel::kError, "FUSE refused to mount at " + mount_point->path());
    return ExitCode::kFuse;
  }
  if (options.readahead != 0) {
    const Status set = SetReadahead(mount_point->path(), options.readahead);
    if (!set) Log(LogLevel::kWarning, "readahead: " + set.error().Text());
  }
  Log(LogLevel::kInfo,
      Quote(options.sources.front()) + " is mounted at " + mount_point->path());
  ready();
  const unsigned threads = ThreadCount(options);
  const bool served = options.sandbox ? LoopInSandbox(raw, threads, trees)
                                      : Loop(raw, threads);
  return served ? ExitCode::kOk : ExitCode::kFuse;
}

ExitCode RunUmount(const char* path) {
  if (const int failed = Unmount(path, /*lazy=*/false); failed != 0) {
    Log(LogLevel::kError, std::string(path) + ": " + std::strerror(failed));
    return ExitCode::kMountPoint;
  }
  return ExitCode::kOk;
}

}  // namespace ctxfs
