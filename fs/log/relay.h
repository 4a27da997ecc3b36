// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/mutex.h"
#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/vfs/log.h"
#include "fs/log/token_bucket.h"

namespace ctxfs {

/// Carries log messages through a pipe from serving threads to a thread that is
/// not confined and may write to syslog. Limits their rate and logs the number
/// of suppressed messages.
class LogRelay {
 public:
  struct Limits {
    double burst = 1000;
    double per_second = 10;
    /// How long to count suppressed messages before logging the count.
    std::chrono::milliseconds report_after{5000};
  };

  /// Fails if the process is out of descriptors.
  static Result<std::unique_ptr<LogRelay>> Make(const Limits& limits);

  /// Sends a message as one line of at most 4,000 bytes. Never blocks. Returns
  /// false if the message is suppressed: the rate is exceeded or the pipe is
  /// full. Thread-safe. Its only system calls for I/O are writes, so confined
  /// threads may call it.
  bool Send(LogLevel level, const std::string& message);

  /// Forwards messages to `target` until Stop, and then the messages that are
  /// left. Also logs how many messages were suppressed or dropped by `target`.
  void Run(const LogSink& target);

  /// Ends Run after earlier messages were forwarded. Thread-safe.
  void Stop();

 private:
  LogRelay(const Limits& limits, Fd read_end, Fd write_end, Fd wake);

  bool Admit();
  void Wake();
  void Wait();
  void PassOn(std::string_view line, const LogSink& target);
  void PassAllOn(const LogSink& target);
  /// Forwards the lines in the pipe.
  void Drain(const LogSink& target);
  void ReportSuppressed(const LogSink& target);

  const Limits limits_;
  const Fd read_end_;
  const Fd write_end_;
  const Fd wake_;  // an eventfd
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> suppressed_ = 0;  // not reported yet
  Mutex mutex_;
  TokenBucket bucket_ CTXFS_GUARDED_BY(mutex_);

  // Used only by the thread in Run.
  std::string pending_;  // the start of a line
  std::optional<TokenBucket::Clock::time_point> report_at_;
};

}  // namespace ctxfs
