// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/io/fd.h"

namespace ctxfs::remote {

/// Maximum descriptors per message.
constexpr size_t kMaxPassed = 8;

/// Sends a message to a SOCK_SEQPACKET socket, with copies of at most
/// kMaxPassed descriptors; false on failure.
bool SendMessage(int socket, const std::string& message,
                 std::span<const int> descriptors = {});

/// A message from such a socket.
struct Received {
  std::string text;             // empty: the other end is closed
  std::vector<Fd> descriptors;  // fewer than were sent if this process has
                                // reached its limit
};

/// Waits for a message and receives it; its text is empty on failure. Makes no
/// system call except recvmsg on `socket`.
Received ReceiveMessage(int socket);

}  // namespace ctxfs::remote
