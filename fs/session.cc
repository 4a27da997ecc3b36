// SPDX-License-Identifier: Apache-2.0
#include "fs/session.h"

#include <fuse_lowlevel.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/text.h"
#include "core/container/format.h"
#include "fs/key_file.h"
#include "fs/mount_point.h"
#include "fs/open_container.h"
#include "fs/ops.h"
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
  args.Add("-ofsname=" + EscapeOption(options.source));
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

std::string BaseName(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  const std::string trimmed = path.substr(0, end + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
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
  Result<std::shared_ptr<const Container>> container =
      OpenContainerFile(options.source, open_options);
  if (!container) {
    Log(LogLevel::kError,
        Quote(options.source) + ": " + container.error().Text());
    return ExitCodeOf(container.error());
  }
  Result<MountPoint> mount_point = MountPoint::Prepare(options.mount_point);
  if (!mount_point) {
    Log(LogLevel::kError, mount_point.error().Text());
    return ExitCode::kMountPoint;
  }

  Server server(std::move(*container), options, open_options,
                BaseName(options.source));
  FuseArgs args;
  FillArgs(options, args);
  fuse_session* raw = fuse_session_new(args.get(), &Operations(),
                                       sizeof(Operations()), &server);
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
      Quote(options.source) + " is mounted at " + mount_point->path());
  ready();
  return Loop(raw, ThreadCount(options)) ? ExitCode::kOk : ExitCode::kFuse;
}

ExitCode RunUmount(const char* path) {
  if (const int failed = Unmount(path, /*lazy=*/false); failed != 0) {
    Log(LogLevel::kError, std::string(path) + ": " + std::strerror(failed));
    return ExitCode::kMountPoint;
  }
  return ExitCode::kOk;
}

}  // namespace ctxfs
