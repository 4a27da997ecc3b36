// SPDX-License-Identifier: Apache-2.0
#include "fs/log/relay.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// A line is a digit for the level, the text, and a newline. Writing up to
// PIPE_BUF (4096) bytes to a pipe is atomic.
constexpr size_t kMaxText = 4000;
static_assert(kMaxText + 2 <= PIPE_BUF);
constexpr int kPipeBytes = 1 << 20;

/// Replaces control characters, which could end a line or control a terminal.
std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return printable;
}

/// Cuts the middle of a long text: a message begins with a path and ends with
/// the reason.
std::string Shortened(const std::string& text) {
  constexpr std::string_view kCut = "[...]";
  constexpr size_t kEnd = (kMaxText - kCut.size()) / 2;
  if (text.size() <= kMaxText) return text;
  return text.substr(0, kEnd) + std::string(kCut) +
         text.substr(text.size() - kEnd);
}

}  // namespace

Result<std::unique_ptr<LogRelay>> LogRelay::Make(const Limits& limits) {
  int ends[2] = {-1, -1};
  const bool piped = ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0;
  Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  Fd wake(piped ? ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1);
  if (!wake.ok()) {
    return IoError("cannot create the pipe for log messages");
  }
  // If this fails, the pipe holds 64 KiB, about 500 messages.
  (void)::fcntl(write_end.get(), F_SETPIPE_SZ, kPipeBytes);
  return std::unique_ptr<LogRelay>(new LogRelay(
      limits, std::move(read_end), std::move(write_end), std::move(wake)));
}

LogRelay::LogRelay(const Limits& limits, Fd read_end, Fd write_end, Fd wake)
    : limits_(limits),
      read_end_(std::move(read_end)),
      write_end_(std::move(write_end)),
      wake_(std::move(wake)),
      bucket_(limits.burst, limits.per_second, TokenBucket::Clock::now()) {}

bool LogRelay::Admit() {
  const MutexLock lock(mutex_);
  return bucket_.Take(TokenBucket::Clock::now());
}

bool LogRelay::Send(LogLevel level, const std::string& message) {
  if (Admit()) {
    const std::string line = fmt::format("{}{}\n", static_cast<int>(level),
                                         Printable(Shortened(message)));
    ssize_t wrote = 0;
    do {
      wrote = ::write(write_end_.get(), line.data(), line.size());
    } while (wrote < 0 && errno == EINTR);
    if (wrote > 0) return true;
  }
  // The first suppressed message starts the time until the report.
  if (suppressed_.fetch_add(1) == 0) Wake();
  return false;
}

void LogRelay::Wake() { (void)::eventfd_write(wake_.get(), 1); }

void LogRelay::Stop() {
  stopped_ = true;
  Wake();
}

void LogRelay::Wait() {
  using std::chrono::milliseconds;
  int timeout = -1;
  if (report_at_) {
    const auto left = std::chrono::ceil<milliseconds>(
        *report_at_ - TokenBucket::Clock::now());
    timeout = static_cast<int>(
        std::clamp<int64_t>(left.count(), 0, limits_.report_after.count()));
  }
  pollfd ready[] = {{read_end_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  (void)::poll(ready, std::size(ready), timeout);
  eventfd_t wakes = 0;
  (void)::eventfd_read(wake_.get(), &wakes);
}

void LogRelay::PassOn(std::string_view line, const LogSink& target) {
  // A thread that a hostile container has taken over can write anything into
  // the pipe.
  const int level = line.empty() ? -1 : line.front() - '0';
  if (level < 0 || level > static_cast<int>(LogLevel::kDebug)) return;
  if (!target(static_cast<LogLevel>(level), Printable(line.substr(1)))) {
    ++suppressed_;
  }
}

void LogRelay::Drain(const LogSink& target) {
  std::array<char, 16384> bytes;
  // Bounded, because a thread that a hostile container has taken over may write
  // without end.
  for (size_t at = 0; at < kPipeBytes; at += bytes.size()) {
    const ssize_t got = ::read(read_end_.get(), bytes.data(), bytes.size());
    if (got <= 0) return;
    pending_.append(bytes.data(), static_cast<size_t>(got));
    size_t start = 0;
    for (size_t end = 0;
         (end = pending_.find('\n', start)) != std::string::npos;
         start = end + 1) {
      PassOn(std::string_view(pending_).substr(start, end - start), target);
    }
    pending_.erase(0, start);
    // Drops a text that is longer than any line of Send.
    if (pending_.size() > PIPE_BUF) pending_.clear();
  }
}

void LogRelay::ReportSuppressed(const LogSink& target) {
  if (suppressed_ == 0) return;
  const TokenBucket::Clock::time_point now = TokenBucket::Clock::now();
  if (!report_at_) report_at_ = now + limits_.report_after;
  if (now < *report_at_ && !stopped_) return;
  report_at_.reset();
  const uint64_t count = suppressed_.exchange(0);
  const bool passed = target(
      LogLevel::kWarning,
      fmt::format("log messages suppressed, because there were too many: {}",
                  count));
  if (!passed) suppressed_ += count;
}

void LogRelay::PassAllOn(const LogSink& target) {
  try {
    Drain(target);
    ReportSuppressed(target);
  } catch (...) {
    ++suppressed_;
  }
}

void LogRelay::Run(const LogSink& target) {
  for (;;) {
    Wait();
    // Reads stopped_ before the pipe, so that messages sent before Stop are
    // forwarded.
    const bool last = stopped_;
    PassAllOn(target);
    if (last) return;
  }
}

}  // namespace ctxfs
