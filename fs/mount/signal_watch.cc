// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/signal_watch.h"

#include <string>
#include <utility>

#include "fs/mount/thread_status.h"

namespace ctxfs {
namespace {

/// Like SignalWatch::Pending, for a thread that may read /proc.
std::optional<uint64_t> ReadPending(uint64_t thread) {
  constexpr int kHex = 16;
  const std::string status = ThreadStatus(thread);
  const auto own = NumberAfter<uint64_t>(status, "\nSigPnd:\t", kHex);
  const auto shared = NumberAfter<uint64_t>(status, "\nShdPnd:\t", kHex);
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
