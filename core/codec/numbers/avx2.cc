// SPDX-License-Identifier: Apache-2.0
#include "core/codec/numbers/avx2.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ctxfs {

bool HasAvx2() {
#if defined(__x86_64__)
  // clang 14's __builtin_cpu_supports does not support f16c.
  static const bool has = [] {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __builtin_cpu_supports("avx2") != 0 &&
           __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  }();
  return has;
#else
  return false;
#endif
}

}  // namespace ctxfs
