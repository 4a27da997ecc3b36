// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

namespace ctxfs {

/// Runs `body(0)` to `body(count - 1)`, all let go at the same moment.
inline void InThreads(int count, const std::function<void(int)>& body) {
  std::barrier start(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&body, &start, i] {
      start.arrive_and_wait();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace ctxfs
