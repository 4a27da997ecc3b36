// SPDX-License-Identifier: Apache-2.0
#include "fs/remote/fetcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "core/container/format.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"
#include "core/io/urls/url.h"
#include "core/io/urls/url_store.h"
#include "core/remote/client/fetch_client.h"
#include "core/remote/client/fetch_program.h"
#include "core/remote/client/remote_store.h"
#include "core/remote/client/shared_slots.h"
#include "core/vfs/log.h"
#include "fs/common/metrics.h"
#include "fs/remote/keeper_process.h"

namespace ctxfs {
namespace {

// Environment variables that WipeSecrets removes. A proxy URL may contain a
// password.
constexpr const char* kSecrets[] = {
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "HF_TOKEN",          "http_proxy",
    "https_proxy",       "HTTPS_PROXY",
    "all_proxy",         "ALL_PROXY"};

/// This process's client of the fetcher; null before StartFetcher.
std::shared_ptr<remote::FetchClient>& Client() {
  static std::shared_ptr<remote::FetchClient> client;
  return client;
}

/// The reading end of a pipe. The process that removes a cache in which nothing
/// was stored has the other end, and closes it when it ends.
Fd& Unused() {
  static Fd unused(-1);
  return unused;
}

/// Overwrites secrets in the environment, so that a hostile file that takes
/// over its parser does not find them in memory.
void WipeSecrets() {
  for (const char* const name : kSecrets) {
    char* const value = std::getenv(name);
    if (value != nullptr) ::explicit_bzero(value, std::strlen(value));
    (void)::unsetenv(name);
  }
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
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return IoError("cannot make a pipe");
  Unused() = Fd(pipe_ends[0]);
  const Fd unused(pipe_ends[1]);
  remote::SharedSlots slots = CTXFS_TRY(remote::SharedSlots::Make());
  const pid_t child = ::fork();
  if (child < 0) return IoError("cannot start the process that fetches URLs");
  if (child == 0) {
    RunKeeper(other.get(), unused.get(), slots, variables);
  }
  other = Fd(-1);
  WipeSecrets();
  const std::chrono::milliseconds timeout =
      CTXFS_TRY(remote::AwaitFetcher(own, Request()));
  auto client = std::make_shared<remote::FetchClient>(
      std::move(own), std::move(slots), timeout);
  client->TellRefusals([](int error) {
    Log(LogLevel::kWarning,
        SystemError("the disk of the cache takes no writes", error).Text() +
            "; nothing that is fetched is kept until it does");
  });
  Client() = client;
  static std::unique_ptr<remote::RemoteStore> store;
  store = std::make_unique<remote::RemoteStore>(
      client, remote::RemoteStore::ListingLasts(), &NamesIndexAtEnd);
  SetUrlStore(store.get());
  return {};
}

void WaitForCache() {
  if (Client() != nullptr) Client()->WaitForCache();
}

void EndFetcher() {
  if (Client() == nullptr) return;
  // The next process finds what this one has read.
  Client()->AwaitCache(std::chrono::seconds(1));
  (void)::shutdown(Client()->descriptor(), SHUT_RDWR);
  constexpr int kMaxMs = 1000;
  struct pollfd removed {
    Unused().get(), 0, 0
  };
  (void)::poll(&removed, 1, kMaxMs);  // reports POLLHUP
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
  out.Add("remote_cache_skipped_bytes_total",
          "Bytes that the cache on disk did not get, because its disk was too "
          "slow.",
          stats.skipped);
  out.Add("remote_cache_backlog_bytes",
          "Bytes that were fetched and are being written to the cache.",
          stats.backlog);
  out.Add("remote_fetcher_restarts_total", "Fetchers that ended unexpectedly.",
          stats.restarts);
  out.Add("remote_cache_pauses_total",
          "Times that the disk of the cache began to refuse writes.",
          stats.pauses);
  out.Add("remote_cache_refusal",
          "The errno with which the disk of the cache refuses writes, or 0.",
          stats.refusal);
  out.AddTimes("remote_request_seconds",
               "Time from a request to a server to the end of its answer.",
               stats.times, remote::FetchStats::kFirstTimeNs, 2,
               stats.all_times_ns);
  return out.TakeText();
}

}  // namespace ctxfs
