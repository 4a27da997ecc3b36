// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the positive errno for a reader. Damage, what exceeds a limit of a
/// format, and I/O errors are EIO. EFBIG, for work that a request may not
/// cause, EMFILE and ENFILE, for the process's own limits, ENOSPC, for its
/// temporary file, EACCES, for what a server refuses, and ENETDOWN, for what
/// was not fetched before the network was left, are passed on.
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
