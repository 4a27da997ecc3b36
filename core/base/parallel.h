// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace ctxfs {

/// Calls `work` with every number below `count`, in this thread and up to
/// `jobs` - 1 others, fewer if the system cannot start more. Returns when all
/// other threads have ended. If a call throws, no further number is started,
/// and the first exception is rethrown when the other threads have ended.
inline void ForEachInParallel(uint64_t count, unsigned jobs,
                              const std::function<void(uint64_t)>& work) {
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr first;  // set by the thread that sets `failed`
  const auto run = [&] {
    try {
      for (uint64_t i = next++; i < count && !failed; i = next++) work(i);
    } catch (...) {
      if (!failed.exchange(true)) first = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    others.reserve(
        static_cast<size_t>(std::min<uint64_t>(std::max(jobs, 1U), count)));
    try {
      for (unsigned job = 1; job < jobs && job < count; ++job) {
        others.emplace_back(run);
      }
    } catch (const std::system_error& /*no thread*/) {
    } catch (const std::bad_alloc& /*no memory for one*/) {
    }
    run();
  }
  if (first != nullptr) std::rethrow_exception(first);
}

}  // namespace ctxfs
