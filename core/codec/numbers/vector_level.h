// SPDX-License-Identifier: Apache-2.0
//
// Chooses among the kernels that Highway compiled. Highway's library could, but
// it measures a clock at the start of every program that is linked with it
// (hwy::platform::TimerResolution in libhwy 1.0.3): 2 ms, a third of
// `ctxfs version`. So the library is not linked.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace ctxfs {

/// Returns the best set of instructions that this processor has: 0 is what
/// every processor of its kind has. On amd64, 1 is AVX2, 2 AVX-512, and 3 the
/// AVX-512 of Ice Lake; on arm64, 1 is NEON and AES.
size_t VectorLevel();

/// Makes VectorLevel() return `level`, for tests of all kernels. The processor
/// must have these instructions.
void SetVectorLevel(size_t level);

/// Returns the kernel of the highest level up to VectorLevel() for which one
/// was compiled. The others are null.
template <typename Kernel, typename... Higher>
Kernel BestKernel(Kernel lowest, Higher... higher) {
  const std::array<Kernel, 1 + sizeof...(higher)> kernels = {lowest, higher...};
  size_t level = std::min(VectorLevel(), sizeof...(higher));
  while (kernels[level] == nullptr) --level;
  return kernels[level];
}

}  // namespace ctxfs

// The kernel of a function that was compiled for each target. Use it after
// <hwy/highway.h>, within HWY_ONCE.
#if defined(__x86_64__)
#define CTXFS_BEST_KERNEL(FUNCTION)                                            \
  ctxfs::BestKernel(&HWY_STATIC_DISPATCH(FUNCTION), HWY_CHOOSE_AVX2(FUNCTION), \
                    HWY_CHOOSE_AVX3(FUNCTION), HWY_CHOOSE_AVX3_DL(FUNCTION))
#elif defined(__aarch64__)
#define CTXFS_BEST_KERNEL(FUNCTION) \
  ctxfs::BestKernel(&HWY_STATIC_DISPATCH(FUNCTION), HWY_CHOOSE_NEON(FUNCTION))
#else
#define CTXFS_BEST_KERNEL(FUNCTION) (&HWY_STATIC_DISPATCH(FUNCTION))
#endif
