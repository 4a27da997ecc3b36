// SPDX-License-Identifier: Apache-2.0
#include "core/io/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>

namespace ctxfs {
namespace {

std::atomic<uint64_t> g_held = 0;
std::atomic<uint64_t> g_most = UINT64_MAX;

/// Returns the part of `limit` to leave free: standard streams, the log, and
/// for each thread its channel to the kernel and the descriptors of one
/// request.
uint64_t Reserve(uint64_t limit, unsigned threads) {
  constexpr uint64_t kProcess = 64;
  constexpr uint64_t kThread = 8;
  return std::min(limit / 2, kProcess + kThread * threads);
}

}  // namespace

uint64_t Descriptors::RaiseLimit(unsigned threads) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  SetMost(limit.rlim_cur - Reserve(limit.rlim_cur, threads));
  return limit.rlim_cur;
}

void Descriptors::SetMost(uint64_t most) {
  g_most.store(most, std::memory_order_relaxed);
}

bool Descriptors::HaveRoom(uint64_t more) {
  return held() + more <= g_most.load(std::memory_order_relaxed);
}

uint64_t Descriptors::held() { return g_held.load(std::memory_order_relaxed); }

Descriptors::Use::Use() { g_held.fetch_add(1, std::memory_order_relaxed); }

Descriptors::Use::~Use() { g_held.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace ctxfs
