// SPDX-License-Identifier: Apache-2.0
#include "fs/remote/fetcher_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "core/cache/block_store.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/io/url.h"
#include "core/io/url_store.h"
#include "core/remote/fetch_client.h"
#include "core/remote/fetcher.h"
#include "core/remote/remote_store.h"
#include "core/remote/settings.h"
#include "core/remote/shared_slots.h"
#include "core/vfs/log.h"
#include "fs/common/metrics.h"
#include "fs/remote/keeper.h"
#include "fs/sandbox/privileges.h"
#include "fs/sandbox/sandbox.h"

namespace ctxfs {
namespace {

// What the resolver reads.
const std::vector<std::string> kResolverFiles = {
    "/etc/resolv.conf", "/etc/hosts",    "/etc/nsswitch.conf",
    "/etc/host.conf",   "/etc/gai.conf", "/etc/services"};

// Environment variables that WipeSecrets removes. The URL of a proxy may have a
// password.
constexpr const char* kSecrets[] = {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "HF_TOKEN",          "http_proxy",
    "https_proxy",       "HTTPS_PROXY",
    "all_proxy",         "ALL_PROXY"};

/// The client of the fetcher of this process; null before StartFetcher.
std::shared_ptr<remote::FetchClient>& Client() {
  static std::shared_ptr<remote::FetchClient> client;
  return client;
}

/// Overwrites secrets in the environment, so that hostile bytes that take over
/// a parser do not find them in its memory.
void WipeSecrets() {
  for (const char* const name : kSecrets) {
    char* const value = std::getenv(name);
    if (value != nullptr) ::explicit_bzero(value, std::strlen(value));
    (void)::unsetenv(name);
  }
}

/// How long a listing is believed.
std::chrono::seconds ListingLasts() {
  constexpr int kUsual = 60;
  constexpr int kMost = 86'400;
  const int seconds =
      std::atoi(EnvironmentVariable("CTXFS_LISTING_SECONDS").c_str());
  return std::chrono::seconds(seconds >= 1 && seconds <= kMost ? seconds
                                                               : kUsual);
}

/// Returns null if there is no cache. A directory that is `demanded` has to
/// become one.
Result<std::unique_ptr<BlockStore>> OpenCache(const Environment& environment,
                                              bool offline, bool demanded) {
  const std::string directory = CacheDirectory(environment);
  if (directory.empty()) return std::unique_ptr<BlockStore>();
  Result<std::unique_ptr<BlockStore>> cache = BlockStore::Open(
      directory, CacheBytes(environment),
      offline ? BlockStore::Damaged::kKept : BlockStore::Damaged::kDropped);
  if (cache || demanded) return cache;
  Log(LogLevel::kWarning,
      cache.error().Text() + "; nothing that is fetched is kept");
  return std::unique_ptr<BlockStore>();
}

/// Closes all descriptors above standard error but two, of which one may be
/// negative.
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

/// Leaves the terminal, the directory and the standard streams of the parent,
/// so that readers of its output wait for the parent only. Ignores signals that
/// are meant for the parent, such as Ctrl-C: this process ends when the socket
/// is closed.
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
  // Other processes of the user cannot trace it, and it dumps no core.
  (void)::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/// Drops privileges and file access that neither the keeper nor its fetchers
/// need.
Status ConfineKeeper(const Kept& kept) {
  (void)DropPrivileges({});
  const int cache = kept.cache == nullptr ? -1 : kept.cache->descriptor();
  CTXFS_TRY(EnterFetcherSandbox(kResolverFiles, cache));
  return {};
}

/// Reads what fetchers need, and confines this process.
Status Prepare(const Environment& environment, bool demanded, Kept& kept) {
  kept.cache =
      CTXFS_TRY(OpenCache(environment, kept.settings.offline, demanded));
  kept.certificates = CTXFS_TRY(remote::LoadCertificates(kept.settings));
  LeaveParent();
  CloseAllBut(kept.socket,
              kept.cache == nullptr ? -1 : kept.cache->descriptor());
  kept.epoch = CTXFS_TRY(MakeSharedCounter());
  return ConfineKeeper(kept);
}

/// Runs the keeper. Its first message has the error, if it cannot start.
[[noreturn]] void RunKeeper(
    int socket, const remote::SharedSlots& slots,
    const std::map<std::string, std::string>& variables) {
  (void)::prctl(PR_SET_NAME, "ctxfs-keeper", 0, 0, 0);
  const auto variable = [&variables](const char* name) {
    const auto given = variables.find(name);
    return given == variables.end() ? EnvironmentVariable(name) : given->second;
  };
  Kept kept{socket, slots,   remote::SettingsFrom(variable),
            "",     nullptr, nullptr};
  const bool demanded = variables.contains("CTXFS_CACHE_DIR");
  remote::FetchReply ready;
  const Status prepared = Prepare(variable, demanded, kept);
  if (!prepared) ready.error = prepared.error();
  const std::string message = remote::Encode(ready);
  (void)::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
  if (ready.error) ::_exit(1);
  Keep(kept);
}

/// Waits for the keeper's first message.
Status AwaitKeeper(const Fd& socket) {
  std::string message(remote::kMostMessageBytes, '\0');
  ssize_t n = 0;
  do {
    n = ::read(socket.get(), message.data(), message.size());
  } while (n < 0 && errno == EINTR);
  message.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  const auto ready = remote::DecodeReply(message);
  if (!ready) {
    return Error{Code::kIo, "the process that fetches URLs did not start"};
  }
  if (ready->error) return *ready->error;
  return {};
}

}  // namespace

Status StartFetcher(const std::vector<std::string>& sources,
                    const std::map<std::string, std::string>& variables) {
  if (std::ranges::none_of(sources, IsUrl)) return {};
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return IoError("cannot make a socket");
  }
  Fd own(ends[0]);
  Fd other(ends[1]);
  remote::SharedSlots slots = CTXFS_TRY(remote::SharedSlots::Make());
  const pid_t child = ::fork();
  if (child < 0) return IoError("cannot start the process that fetches URLs");
  if (child == 0) {
    RunKeeper(other.get(), slots, variables);
  }
  other = Fd(-1);
  WipeSecrets();
  CTXFS_TRY(AwaitKeeper(own));
  auto client =
      std::make_shared<remote::FetchClient>(std::move(own), std::move(slots));
  Client() = client;
  SetUrlStore(std::make_shared<remote::RemoteStore>(client, ListingLasts()));
  return {};
}

int FetcherChannel() {
  return Client() == nullptr ? -1 : Client()->descriptor();
}

std::string FetcherStats() {
  if (Client() == nullptr) return {};
  const remote::FetchStats stats = Client()->stats();
  Metrics out;
  out.Add("remote_requests_total",
          "Requests to servers, repeated ones included.", stats.requests);
  out.Add("remote_retries_total", "Requests to servers that were repeated.",
          stats.retries);
  out.Add("remote_received_bytes_total", "Bytes of bodies that servers sent.",
          stats.received);
  out.Add("remote_cached_bytes_total", "Bytes that the cache on disk had.",
          stats.cached);
  out.Add("remote_cache_hits_total",
          "Ranges that the cache on disk had as a whole.", stats.hits);
  out.Add("remote_fetcher_restarts_total", "Fetchers that ended unexpectedly.",
          stats.restarts);
  out.AddTimes("remote_request_seconds",
               "Time from a request to a server to the end of its answer.",
               stats.times, remote::FetchStats::kFirstTimeNs, 2,
               stats.all_times_ns);
  return out.TakeText();
}

}  // namespace ctxfs
