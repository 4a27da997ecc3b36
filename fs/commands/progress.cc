// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "core/base/text/human_size.h"

namespace ctxfs {

Progress::Progress() : shown_(::isatty(STDERR_FILENO) == 1), drawn_(start_) {}

void Progress::Add(uint64_t bytes) {
  constexpr std::chrono::milliseconds kBetween(100);
  done_ += bytes;
  if (!shown_) return;
  const MutexLock lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now - drawn_ >= kBetween) Draw(now);
}

void Progress::Draw(Clock::time_point now) {
  const uint64_t total = total_;
  const uint64_t done = std::min<uint64_t>(done_, total);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(done) / seconds;
  const auto left =
      rate > 0 ? static_cast<uint64_t>(static_cast<double>(total - done) / rate)
               : 0;
  const uint64_t percent =
      total == 0 ? 0 : done / std::max(total / 100, uint64_t{1});
  std::fprintf(
      stderr, "\r\x1b[K%3llu %%  %s of %s  %s/s  %llu:%02llu left",
      static_cast<unsigned long long>(std::min<uint64_t>(percent, 100)),
      HumanSize(done).c_str(), HumanSize(total).c_str(),
      HumanSize(static_cast<uint64_t>(rate)).c_str(),
      static_cast<unsigned long long>(left / 60),
      static_cast<unsigned long long>(left % 60));
  drawn_ = now;
  dirty_ = true;
}

void Progress::Clear() {
  const MutexLock lock(mutex_);
  if (dirty_) std::fputs("\r\x1b[K", stderr);
  dirty_ = false;
}

}  // namespace ctxfs
