// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
// Lets one function use AVX2 and F16C; call it only if HasAvx2(). A compiler
// flag for a whole file would also apply to inline functions of headers, and
// the linker might use those versions in code that must run without AVX2.
#define CTXFS_AVX2 __attribute__((target("avx2,f16c")))
#endif

namespace ctxfs {

/// Whether this processor has AVX2 and F16C; false if functions that use them
/// are not compiled in.
bool HasAvx2();

}  // namespace ctxfs
