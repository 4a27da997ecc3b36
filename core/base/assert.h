// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ctxfs {

/// Writes the failed condition and its place to stderr, and aborts.
[[noreturn]] void FailAssertion(const char* condition, const char* file,
                                int line);

}  // namespace ctxfs

/// Ends the process if an invariant of the code is violated. Enabled in builds
/// with the assertions of the C++ library: those for tests, sanitizers and
/// fuzzing. Other builds compile the condition, but do not evaluate it. A fault
/// that a file or a caller can cause is an Error instead.
#ifdef _GLIBCXX_ASSERTIONS
#define CTXFS_ASSERT(condition) \
  ((condition) ? void() : ctxfs::FailAssertion(#condition, __FILE__, __LINE__))
#else
#define CTXFS_ASSERT(condition) void(sizeof(bool(condition)))
#endif
