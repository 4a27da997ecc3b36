// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ctxfs {

/// Writes what does not hold, and where, to stderr, and ends the process.
[[noreturn]] void FailAssertion(const char* condition, const char* file,
                                int line);

}  // namespace ctxfs

/// Ends the process if an invariant of the code does not hold. On in builds
/// that have the assertions of the C++ library: those for tests, sanitizers and
/// fuzzing. Elsewhere the condition is compiled, but not evaluated. What a file
/// or a caller can bring about is an Error instead.
#ifdef _GLIBCXX_ASSERTIONS
#define CTXFS_ASSERT(condition) \
  ((condition) ? void() : ctxfs::FailAssertion(#condition, __FILE__, __LINE__))
#else
#define CTXFS_ASSERT(condition) void(sizeof(bool(condition)))
#endif
