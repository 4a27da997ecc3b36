// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/vector_level.h"

#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace ctxfs {
namespace {

#if defined(__x86_64__)

/// Returns ECX of cpuid, which tells of features that __builtin_cpu_supports of
/// g++ 12 and clang 14 has no names for; 0 if there is no such leaf.
unsigned FeaturesOf(unsigned leaf) {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(leaf, 0, &a, &b, &c, &d) != 0 ? c : 0;
}

/// Whether the processor has all that Highway lets the compiler use for AVX2.
/// Every processor with AVX2 has the rest, too, but a virtual machine may hide
/// it.
bool HasAvx2() {
  return (FeaturesOf(1) & bit_F16C) != 0 &&
         __builtin_cpu_supports("avx2") != 0 &&
         __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("bmi2") != 0 &&
         __builtin_cpu_supports("aes") != 0 &&
         __builtin_cpu_supports("pclmul") != 0;
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0;
}

bool HasAvx512OfIceLake() {
  return (FeaturesOf(7) & bit_VAES) != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0 &&
         __builtin_cpu_supports("avx512vbmi") != 0 &&
         __builtin_cpu_supports("avx512vbmi2") != 0 &&
         __builtin_cpu_supports("avx512vpopcntdq") != 0 &&
         __builtin_cpu_supports("avx512bitalg") != 0 &&
         __builtin_cpu_supports("vpclmulqdq") != 0 &&
         __builtin_cpu_supports("gfni") != 0;
}

size_t Detect() {
  __builtin_cpu_init();
  if (!HasAvx2()) return 0;
  if (!HasAvx512()) return 1;
  return HasAvx512OfIceLake() ? 3 : 2;
}

#elif defined(__aarch64__)

size_t Detect() {
  constexpr unsigned long kAes = 1UL << 3;  // HWCAP_AES
  return (::getauxval(AT_HWCAP) & kAes) != 0 ? 1 : 0;
}

#else

size_t Detect() { return 0; }

#endif

std::atomic<size_t>& Level() {
  static std::atomic<size_t> level = Detect();
  return level;
}

}  // namespace

size_t VectorLevel() { return Level().load(std::memory_order_relaxed); }

void SetVectorLevel(size_t level) { Level() = level; }

}  // namespace ctxfs
