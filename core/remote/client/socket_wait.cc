// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/socket_wait.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <iterator>

namespace ctxfs::remote {

SocketWait::SocketWait() : told_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

bool SocketWait::Await(const Fd& socket, Clock::time_point end) const {
  using std::chrono::milliseconds;
  constexpr milliseconds kMost = std::chrono::hours(1);  // poll takes an int
  const auto left =
      std::clamp(std::chrono::ceil<milliseconds>(end - Clock::now()),
                 milliseconds(0), kMost);
  struct pollfd ready[] = {{socket.get(), POLLIN, 0}, {told_.get(), POLLIN, 0}};
  if (::poll(ready, std::size(ready), static_cast<int>(left.count())) <= 0) {
    return false;
  }
  eventfd_t times = 0;
  if (ready[1].revents != 0) (void)::eventfd_read(told_.get(), &times);
  return ready[0].revents != 0;
}

void SocketWait::Tell() const { (void)::eventfd_write(told_.get(), 1); }

}  // namespace ctxfs::remote
