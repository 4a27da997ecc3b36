// SPDX-License-Identifier: Apache-2.0
#include "core/api/urls.h"

#include <dlfcn.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "core/container/format.h"
#include "core/io/urls/url_store.h"
#include "core/remote/client/fetch_program.h"
#include "core/remote/client/remote_store.h"

namespace ctxfs::api {
namespace {

/// The fetcher of a process. Never destroyed: trees may be open, with threads
/// in them, until the process ends.
struct Fetching {
  pid_t process;
  std::shared_ptr<remote::FetchClient> client;
  remote::RemoteStore store;
};

std::atomic<Fetching*> g_fetching = nullptr;

/// Whether `one` can open URLs: false in a forked child, which would share the
/// socket with its parent, and after the fetcher has ended.
bool Serves(const Fetching* one) {
  if (one == nullptr || one->process != ::getpid()) return false;
  struct pollfd state {
    one->client->descriptor(), 0, 0
  };
  return ::poll(&state, 1, 0) == 0;  // the fetcher has not closed its end
}

/// The installed program: in libctxfs1/ beside the shared library.
std::string InstalledProgram() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&ctxfs_open), &found) == 0 ||
      found.dli_fname == nullptr) {
    return "libctxfs1/ctxfs-fetch";
  }
  const std::string library = found.dli_fname;
  const size_t slash = library.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "" : library.substr(0, slash + 1);
  return folder + "libctxfs1/ctxfs-fetch";
}

// Uses no lock, because another thread could fork while a lock is held. If two
// threads start a program at the same time, one stops its own.
Result<Fetching*> Serving(const char* program, const Request& request) {
  Fetching* current = g_fetching;
  if (Serves(current)) return current;
  auto client = CTXFS_TRY(remote::StartFetchProgram(
      program == nullptr ? InstalledProgram() : program, request));
  std::unique_ptr<Fetching> made(new Fetching{
      ::getpid(),
      client,
      {client, remote::RemoteStore::ListingLasts(), &NamesIndexAtEnd}});
  while (!g_fetching.compare_exchange_weak(current, made.get())) {
    if (Serves(current)) return current;
  }
  return made.release();
}

}  // namespace

Status ServeUrls(const char* program, const Request& request) {
  Fetching* const serving = CTXFS_TRY(Serving(program, request));
  SetUrlStore(&serving->store);
  return {};
}

}  // namespace ctxfs::api
