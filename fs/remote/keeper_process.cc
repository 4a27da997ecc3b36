// SPDX-License-Identifier: Apache-2.0
#include "fs/remote/keeper_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <vector>

#include "core/base/environment.h"
#include "core/cache/block_store.h"
#include "core/remote/client/messages.h"
#include "core/remote/fetcher/fetcher.h"
#include "core/remote/fetcher/settings.h"
#include "core/vfs/log.h"
#include "fs/remote/keeper.h"
#include "fs/remote/unused_directories.h"
#include "fs/sandbox/privileges.h"
#include "fs/sandbox/sandbox.h"

namespace ctxfs {
namespace {

const std::vector<std::string> kResolverFiles = {
    "/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
    "/etc/host.conf",   "/etc/gai.conf", "/etc/services"};

/// Opens the cache; null if there is none. A directory that cannot be used as
/// the cache is an error only if `demanded`. Unless this process created the
/// directory (`made`), calls Touch, so that the process that created it does
/// not remove it.
Result<std::unique_ptr<BlockStore>> OpenCache(const Environment& environment,
                                              bool offline, bool demanded,
                                              bool made) {
  const std::string directory = CacheDirectory(environment);
  if (directory.empty()) return std::unique_ptr<BlockStore>();
  Result<std::unique_ptr<BlockStore>> cache = BlockStore::Open(
      directory, CacheBytes(environment),
      offline ? BlockStore::Damaged::kKept : BlockStore::Damaged::kDropped);
  if (cache && IsUntouched((*cache)->descriptor()) && !made) {
    Touch((*cache)->descriptor());
  }
  if (cache || demanded) return cache;
  Log(LogLevel::kWarning,
      cache.error().Text() + "; nothing that is fetched is kept");
  return std::unique_ptr<BlockStore>();
}

/// Closes all descriptors above standard error except `one` and `other`, one of
/// which may be negative.
void CloseAllBut(int one, int other) {
  unsigned from = STDERR_FILENO + 1;
  for (const int kept : {std::min(one, other), std::max(one, other)}) {
    if (kept < static_cast<int>(from)) continue;
    const auto number = static_cast<unsigned>(kept);
    if (number > from) (void)::syscall(SYS_close_range, from, number - 1, 0);
    from = number + 1;
  }
  constexpr unsigned kLast = std::numeric_limits<unsigned>::max();
  (void)::syscall(SYS_close_range, from, kLast, 0);
}

/// Detaches from the parent's session, directory and standard streams, so that
/// readers of the parent's output wait only for the parent. Ignores signals
/// meant for the parent, such as Ctrl-C: this process ends when the socket is
/// closed.
void LeaveParent() {
  (void)::setsid();
  (void)!::chdir("/");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    (void)::signal(signal, SIG_IGN);
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null >= 0) (void)::dup2(null, stream);
  }
  // Prevents tracing by other processes of the user, and core dumps.
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/// Becomes a process that removes the directories `made` when its descendants,
/// the keeper and its fetchers, have ended. They cannot remove these
/// themselves, because they are confined to the innermost one.
[[noreturn]] void RunRemover(const std::vector<std::string>& made, int unused) {
  (void)::prctl(PR_SET_NAME, "ctxfs-remover", 0, 0, 0);
  LeaveParent();
  CloseAllBut(unused, -1);
  (void)DropPrivileges({});
  const std::string above = made.front().substr(0, made.front().rfind('/'));
  (void)EnterRemoverSandbox(above.empty() ? "/" : above);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  RemoveUnused(made);
  ::_exit(0);
}

/// If directories are `missing`, forks: this process becomes the remover, and
/// the child returns.
void LeaveRemover(const std::vector<std::string>& missing, int unused) {
  if (missing.empty()) return;
  // Orphaned fetchers become children of the remover, too.
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const pid_t keeper = ::fork();
  if (keeper > 0) RunRemover(missing, unused);
  if (keeper < 0) (void)::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

/// Drops privileges and file access that the keeper and its fetchers do not
/// need.
Status ConfineKeeper(const Kept& kept) {
  (void)DropPrivileges({});
  const int cache = kept.cache == nullptr ? -1 : kept.cache->descriptor();
  CTXFS_TRY(EnterFetcherSandbox(kResolverFiles, cache));
  return {};
}

/// Reads the settings and files of fetchers, and confines this process.
Status Prepare(const Environment& environment, bool demanded, bool made,
               Kept& kept) {
  kept.cache =
      CTXFS_TRY(OpenCache(environment, kept.settings.offline, demanded, made));
  kept.certificates = CTXFS_TRY(remote::LoadCertificates(kept.settings));
  LeaveParent();
  CloseAllBut(kept.socket,
              kept.cache == nullptr ? -1 : kept.cache->descriptor());
  kept.epoch = CTXFS_TRY(MakeSharedCounter());
  return ConfineKeeper(kept);
}

}  // namespace

void RunKeeper(int socket, int unused, const remote::SharedSlots& slots,
               const std::map<std::string, std::string>& variables) {
  const auto variable = [&variables](const char* name) {
    const auto given = variables.find(name);
    return given == variables.end() ? EnvironmentVariable(name) : given->second;
  };
  const std::vector<std::string> missing =
      MissingDirectories(CacheDirectory(variable));
  LeaveRemover(missing, unused);
  (void)::prctl(PR_SET_NAME, "ctxfs-keeper", 0, 0, 0);
  Kept kept{socket, slots,   remote::SettingsFrom(variable),
            "",     nullptr, nullptr};
  const bool demanded = variables.contains("CTXFS_CACHE_DIR");
  remote::FetchReply ready;
  ready.timeout_ms = static_cast<uint32_t>(kept.settings.timeout.count());
  const Status prepared = Prepare(variable, demanded, !missing.empty(), kept);
  if (!prepared) ready.error = prepared.error();
  const std::string message = remote::Encode(ready);
  (void)::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
  if (ready.error) ::_exit(1);
  Keep(kept);
}

}  // namespace ctxfs
