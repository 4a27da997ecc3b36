// SPDX-License-Identifier: Apache-2.0
#include "core/base/seed.h"

#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

namespace ctxfs {
namespace {

/// Does not use std::random_device, which needs a C library of 2022 or later: a
/// Python wheel must run with older ones.
uint64_t AskSystem() {
  uint64_t key = 0;
  if (::getrandom(&key, sizeof key, GRND_NONBLOCK) == sizeof key) return key;
  // Just after boot the kernel may have no randomness. The author of a file
  // cannot predict the following values either.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(now.count()) ^
         static_cast<uint64_t>(::getpid()) << 32 ^
         reinterpret_cast<uintptr_t>(&key);
}

}  // namespace

uint64_t RandomSeed() {
  static const uint64_t key = AskSystem();
  static std::atomic<uint64_t> calls = 0;
  // splitmix64
  uint64_t seed = key + 0x9E3779B97F4A7C15U * ++calls;
  seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9U;
  seed = (seed ^ seed >> 27) * 0x94D049BB133111EBU;
  return seed ^ seed >> 31;
}

}  // namespace ctxfs
