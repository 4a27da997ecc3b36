// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/address_space.h"

#include <fmt/core.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

/// The size of this process's address space, in bytes.
uint64_t Used() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// The address space of a thread: its stack and libfuse's buffer.
uint64_t BytesAThread() {
  constexpr uint64_t kBuffer = limits::kMiB + 64 * limits::kKiB;
  size_t stack = 8 * limits::kMiB;
  pthread_attr_t attributes;
  if (::pthread_getattr_default_np(&attributes) == 0) {
    ::pthread_attr_getstacksize(&attributes, &stack);
    ::pthread_attr_destroy(&attributes);
  }
  return stack + kBuffer;
}

}  // namespace

Status CheckAddressSpace(uint64_t cache_bytes, uint64_t threads) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return {};
  }
  const uint64_t most = limit.rlim_cur;
  const uint64_t besides = Used() + threads * BytesAThread();
  if (cache_bytes <= most && besides <= most - cache_bytes) return {};
  const auto mib = [](uint64_t bytes) {
    return fmt::format("{} MiB", bytes / limits::kMiB);
  };
  return Error{
      Code::kLimit,
      fmt::format("the address space is limited to {} (ulimit -v); needed are "
                  "{} for cache= and {} for the program and its {} threads",
                  mib(most), mib(cache_bytes), mib(besides), threads)};
}

}  // namespace ctxfs
