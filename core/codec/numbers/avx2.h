// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
// Lets one function use AVX2 and F16C, which may then be called where
// HasAvx2(). A compiler flag for a file would also apply to inline functions of
// headers, and the linker might keep those for the whole program, which must
// run without.
#define CTXFS_AVX2 __attribute__((target("avx2,f16c")))
#endif

namespace ctxfs {

/// Whether this processor has AVX2 and F16C: false if functions that use them
/// are not compiled in.
bool HasAvx2();

}  // namespace ctxfs
