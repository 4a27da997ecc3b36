// SPDX-License-Identifier: Apache-2.0
//
// For which instructions Highway compiles what includes this before it.
#pragma once

// SSE is not faster than what the compiler makes of scalar code; of SVE the
// size of a vector is unknown to the compiler, and NEON of the same processors
// will do.
#define CTXFS_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_DISABLED_TARGETS CTXFS_DISABLED_TARGETS

// Whether HWY_TARGET stands for processors that get scalar code: a target with
// a larger number has less instructions.
#define CTXFS_SCALAR_TARGET                                \
  (HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || \
   (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2))
