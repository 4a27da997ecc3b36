// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace ctxfs {

/// Calls `work` with every number below `count`, in this thread and up to
/// `jobs` - 1 others, as far as the system has them, and returns when all of
/// them have.
inline void ForEachInParallel(uint64_t count, unsigned jobs,
                              const std::function<void(uint64_t)>& work) {
  std::atomic<uint64_t> next = 0;
  const auto run = [&] {
    for (uint64_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (unsigned job = 1; job < jobs && job < count; ++job) {
    try {
      others.emplace_back(run);
    } catch (const std::system_error&) {
      break;
    }
  }
  run();
}

}  // namespace ctxfs
