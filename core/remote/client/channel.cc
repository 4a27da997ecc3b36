// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/remote/client/messages.h"

namespace ctxfs::remote {
namespace {

/// Buffer for the descriptors of a message.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(kMaxPassed * sizeof(int))];
};

/// Moves descriptors of a message into `descriptors`, which has the capacity.
void TakeDescriptors(msghdr& message, std::vector<Fd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      descriptors.emplace_back(descriptor);
    }
  }
}

}  // namespace

bool SendMessage(int socket, const std::string& message,
                 std::span<const int> descriptors) {
  Control control{};
  iovec text{const_cast<char*>(message.data()), message.size()};
  msghdr whole{};
  whole.msg_iov = &text;
  whole.msg_iovlen = 1;
  descriptors = descriptors.first(std::min(descriptors.size(), kMaxPassed));
  if (!descriptors.empty()) {
    whole.msg_control = control.bytes;
    whole.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const part = CMSG_FIRSTHDR(&whole);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t n = 0;
  do {
    n = ::sendmsg(socket, &whole, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

Received ReceiveMessage(int socket) {
  Received received;
  // Allocates before the message leaves the socket. Otherwise the message would
  // be lost if memory ran out.
  received.text.resize(kMaxMessageBytes);
  received.descriptors.reserve(kMaxPassed);
  Control control{};
  iovec text{received.text.data(), received.text.size()};
  msghdr whole{};
  whole.msg_iov = &text;
  whole.msg_iovlen = 1;
  whole.msg_control = control.bytes;
  whole.msg_controllen = sizeof(control.bytes);
  ssize_t n = 0;
  do {
    n = ::recvmsg(socket, &whole, MSG_CMSG_CLOEXEC);
  } while (n < 0 && errno == EINTR);
  received.text.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  if (n > 0) TakeDescriptors(whole, received.descriptors);
  return received;
}

}  // namespace ctxfs::remote
