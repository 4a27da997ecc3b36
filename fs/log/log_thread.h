// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>
#include <memory>
#include <thread>

#include "core/vfs/log.h"
#include "fs/log/relay.h"

namespace ctxfs {

/// Has all messages of the process go through a relay, which a thread of its
/// own passes on, until it is destroyed. Then the rest is passed on; a thread
/// that a sink blocks for longer than a second is left behind, and later
/// messages are dropped. Made and destroyed while no other thread logs.
class LogThread {
 public:
  /// Throws std::system_error if no thread can be had.
  explicit LogThread(std::shared_ptr<LogRelay> relay);
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

 private:
  const std::shared_ptr<LogRelay> relay_;
  const LogSink sink_;  // the one before it
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace ctxfs
