// SPDX-License-Identifier: Apache-2.0
#include "fs/signal_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

/// The number after `key` in a status file, in hex.
std::optional<uint64_t> HexAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  const char* first = text.data() + at + key.size();
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(first, text.data() + text.size(), value, 16);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// As SignalWatch::Pending, for a thread that may read /proc.
std::optional<uint64_t> ReadPending(uint64_t thread) {
  const std::string path = fmt::format("/proc/{}/status", thread);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return std::nullopt;
  std::array<char, 8192> bytes;
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  if (got <= 0) return std::nullopt;
  const std::string_view text(bytes.data(), static_cast<size_t>(got));
  const auto own = HexAfter(text, "\nSigPnd:\t");
  const auto shared = HexAfter(text, "\nShdPnd:\t");
  if (!own || !shared) return std::nullopt;
  return *own | *shared;
}

}  // namespace

Result<std::unique_ptr<SignalWatch>> SignalWatch::Make() {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.ok()) return IoError("cannot create an eventfd");
  return std::unique_ptr<SignalWatch>(new SignalWatch(std::move(wake)));
}

std::optional<uint64_t> SignalWatch::Pending(uint64_t thread) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kMoment(20);
  if (thread == 0) return std::nullopt;
  const auto question = std::make_shared<Question>(thread);
  const Clock::time_point end = Clock::now() + std::chrono::seconds(1);
  const MutexLock lock(mutex_);
  open_.push_back(question);
  (void)::eventfd_write(wake_.get(), 1);
  while (!question->answered && Clock::now() < end) {
    answered_.WaitFor(mutex_, kMoment);
  }
  open_.remove(question);
  return question->pending;
}

void SignalWatch::Answer() {
  eventfd_t wakes = 0;
  (void)::eventfd_read(wake_.get(), &wakes);
  MutexLock lock(mutex_);
  const std::list<std::shared_ptr<Question>> questions = std::move(open_);
  open_.clear();
  for (const std::shared_ptr<Question>& question : questions) {
    lock.Unlock();
    const std::optional<uint64_t> pending = ReadPending(question->thread);
    lock.Lock();
    question->pending = pending;
    question->answered = true;
    answered_.NotifyAll();
  }
}

}  // namespace ctxfs
