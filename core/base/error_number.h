// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the positive errno for a reader. Damaged bytes, unsupported methods,
/// excess of a format's limit, and I/O errors are EIO. These values of
/// sys_errno are passed on: EFBIG (more work or memory than a request may
/// cause), EMFILE and ENFILE (no descriptor is free), ENOSPC (no space for a
/// temporary file), EACCES (a server refuses), and ENETDOWN (a cache miss while
/// offline).
inline int ErrnoOf(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return ENOENT;
    case Code::kStale:
      return ESTALE;
    case Code::kLimit:
      return error.sys_errno == EFBIG ? EFBIG : EIO;
    case Code::kIo:
      for (const int passed_on : {ENOSPC, EACCES, ENETDOWN}) {
        if (error.sys_errno == passed_on) return passed_on;
      }
      return EIO;
    case Code::kNoMemory:
      return ENOMEM;
    case Code::kTooManyFiles:
      return error.sys_errno != 0 ? error.sys_errno : EMFILE;
    case Code::kLocked:
      return EACCES;
    case Code::kInterrupted:
      return EINTR;
    default:
      return EIO;
  }
}

}  // namespace ctxfs
