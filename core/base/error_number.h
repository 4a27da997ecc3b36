// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the positive errno for a reader. Damage, what exceeds a limit of a
/// format, and I/O errors are EIO. EFBIG, for work that a request may not
/// cause, EMFILE and ENFILE, for the process's own limits, and ENOSPC, for its
/// temporary file, are passed on.
inline int ErrnoOf(const Error& error) {
  switch (error.code) {
    case Code::kNotFound:
      return ENOENT;
    case Code::kStale:
      return ESTALE;
    case Code::kLimit:
      return error.sys_errno == EFBIG ? EFBIG : EIO;
    case Code::kIo:
      return error.sys_errno == ENOSPC ? ENOSPC : EIO;
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
