// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/signal_watch.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>

namespace ctxfs {
namespace {

/// The hexadecimal number after `key` in a /proc status file.
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

/// Like SignalWatch::Pending, for a thread that may read /proc.
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
  Fd wake = CTXFS_TRY(decltype(threads_)::MakeWake());
  return std::unique_ptr<SignalWatch>(new SignalWatch(std::move(wake)));
}

std::optional<uint64_t> SignalWatch::Pending(uint64_t thread) {
  if (thread == 0) return std::nullopt;
  return threads_.Ask(thread).value_or(std::nullopt);
}

void SignalWatch::Answer() {
  threads_.AnswerAll(&ReadPending, [](const auto& /*unused*/) {});
}

}  // namespace ctxfs
