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

/// Carries log messages through a pipe from the threads that serve to a thread
/// that is not confined and may talk to syslog. Limits their rate, and logs how
/// many messages it suppressed.
class LogRelay {
 public:
  struct Limits {
    double burst = 1000;
    double per_second = 10;
    /// How long suppressed messages are counted before the count is logged.
    std::chrono::milliseconds report_after{5000};
  };

  /// Fails if the process has no descriptors left.
  static Result<std::unique_ptr<LogRelay>> Make(const Limits& limits);

  /// Sends a message, which becomes one line of at most 4,000 bytes. Never
  /// waits. Returns false if the message is suppressed: too many came before
  /// it, or the pipe is full. For any thread; makes no system call but write.
  bool Send(LogLevel level, const std::string& message);

  /// Passes messages on to `target` until Stop, then the rest and the count of
  /// those that were suppressed or that `target` dropped.
  void Run(const LogSink& target);

  /// Ends Run. For any thread; messages sent before it are passed on.
  void Stop();

 private:
  LogRelay(const Limits& limits, Fd read_end, Fd write_end, Fd wake);

  bool Admit();
  void Wake();
  void Wait();
  void PassOn(std::string_view line, const LogSink& target);
  void PassAllOn(const LogSink& target);
  /// Passes on the lines that are in the pipe.
  void Drain(const LogSink& target);
  void ReportSuppressed(const LogSink& target);

  const Limits limits_;
  const Fd read_end_;
  const Fd write_end_;
  const Fd wake_;  // an eventfd
  std::atomic<bool> stopped_ = false;
  std::atomic<uint64_t> suppressed_ = 0;  // and not reported yet
  Mutex mutex_;
  TokenBucket bucket_ CTXFS_GUARDED_BY(mutex_);

  // Used by the thread in Run alone.
  std::string pending_;  // the start of a line
  std::optional<TokenBucket::Clock::time_point> report_at_;
};

}  // namespace ctxfs
