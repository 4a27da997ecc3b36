// SPDX-License-Identifier: Apache-2.0
#pragma once

/// CTXFS_SANITIZED: 1 in a build with the address, thread or memory sanitizer,
/// else 0. Such a build has its own operator new, makes further system calls,
/// and is slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CTXFS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CTXFS_SANITIZED 1
#endif
#endif
#ifndef CTXFS_SANITIZED
#define CTXFS_SANITIZED 0
#endif
