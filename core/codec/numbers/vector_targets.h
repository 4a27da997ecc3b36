// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets for which Highway compiles a file that includes this
// one. Must be included before Highway's headers.
#pragma once

// SSE is disabled, because the compiler's scalar code is as fast. SVE is
// disabled, because its vectors have no size that the compiler knows;
// processors with SVE use NEON instead.
#define CTXFS_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#define HWY_DISABLED_TARGETS CTXFS_DISABLED_TARGETS

// Whether processors of the target HWY_TARGET use scalar code. Among the
// targets of x86, a larger number means fewer instructions, so these are the
// targets below AVX2.
#define CTXFS_SCALAR_TARGET                                \
  (HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR || \
   (HWY_ARCH_X86 && HWY_TARGET > HWY_AVX2))
