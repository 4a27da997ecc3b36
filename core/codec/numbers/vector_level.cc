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

/// What Highway compiles for AVX2 may also use other instructions, which every
/// such processor has, but a virtual machine may hide. Compilers know F16C and
/// VAES by no name.
bool HasAvx2() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0 &&
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
  constexpr unsigned kFeatures = 7;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 &&
         (c & bit_VAES) != 0 && __builtin_cpu_supports("avx512vnni") != 0 &&
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

size_t SetVectorLevel(size_t level) { return Level().exchange(level); }

}  // namespace ctxfs
