// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "core/io/fd.h"
#include "core/vfs/log.h"

namespace ctxfs {
namespace {

/// Sends a datagram to the socket at `path`; a leading '@' selects the abstract
/// namespace. Returns 0 or an errno.
int Send(const std::string& path, const std::string& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return errno;
  const auto length =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent =
      ::sendto(socket.get(), message.data(), message.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), length);
  return sent < 0 ? errno : 0;
}

}  // namespace

void NotifyReady(const std::string& status) {
  const char* const value = std::getenv("NOTIFY_SOCKET");
  if (value == nullptr || *value == '\0') return;
  const std::string path = value;
  ::unsetenv("NOTIFY_SOCKET");
  const int failed = Send(path, "READY=1\nSTATUS=" + status);
  if (failed != 0) {
    Log(LogLevel::kWarning, "the service manager cannot be notified at '" +
                                path + "': " + std::strerror(failed));
  }
}

}  // namespace ctxfs
