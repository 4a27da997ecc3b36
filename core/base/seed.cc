// SPDX-License-Identifier: Apache-2.0
#include "core/base/seed.h"

#include <atomic>
#include <random>

namespace ctxfs {

uint64_t RandomSeed() {
  static const uint64_t key = [] {
    std::random_device device;
    return uint64_t{device()} << 32 | device();
  }();
  static std::atomic<uint64_t> calls = 0;
  // splitmix64
  uint64_t seed = key + 0x9E3779B97F4A7C15U * ++calls;
  seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9U;
  seed = (seed ^ seed >> 27) * 0x94D049BB133111EBU;
  return seed ^ seed >> 31;
}

}  // namespace ctxfs
