// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <thread>

#include "core/vfs/log.h"
#include "fs/log/relay.h"

namespace ctxfs {

/// Sends all messages of the process through a relay, which a thread of its own
/// drains. The destructor waits until this thread has forwarded the messages
/// that are left. If a sink blocks the thread for a second, the destructor
/// abandons the thread, and later messages are dropped. Must be constructed and
/// destroyed while no other thread logs.
class LogThread {
 public:
  /// Throws std::system_error if the thread cannot start.
  explicit LogThread(std::shared_ptr<LogRelay> relay);
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

 private:
  const std::shared_ptr<LogRelay> relay_;
  const LogSink sink_;  // the previous sink
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace ctxfs
