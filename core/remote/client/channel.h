// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/io/fd.h"

namespace ctxfs::remote {

/// Descriptors that one message may carry.
constexpr size_t kMaxPassed = 8;

/// Sends a message to a SOCK_SEQPACKET socket, with copies of at most
/// kMaxPassed descriptors; false if that fails.
bool SendMessage(int socket, const std::string& message,
                 std::span<const int> descriptors = {});

/// A message that came from such a socket.
struct Received {
  std::string text;             // empty: the other end is closed
  std::vector<Fd> descriptors;  // fewer than were sent if there is no room
};

/// Receives a message, and waits for it; its text is empty if that fails. Makes
/// no system call but recvmsg on `socket`.
Received ReceiveMessage(int socket);

}  // namespace ctxfs::remote
