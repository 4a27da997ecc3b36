// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <string>

#include "core/base/result.h"
#include "core/vfs/log.h"

namespace ctxfs {

/// What the commands return to the shell; in the manual, so never renumbered.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 1,
  kSource = 2,
  kNotContainer = 3,
  kDamaged = 4,
  kVersion = 5,
  kMountPoint = 6,
  kFuse = 7,
  kLimit = 8,
  kKey = 9,
};

/// Why a container, or what is in it, could not be opened.
inline ExitCode ExitCodeOf(const Error& error) {
  switch (error.code) {
    case Code::kNotContainer:
      return ExitCode::kNotContainer;
    case Code::kVersion:
      return ExitCode::kVersion;
    case Code::kCorrupt:
    case Code::kChecksum:
      return ExitCode::kDamaged;
    case Code::kLimit:
      return ExitCode::kLimit;
    case Code::kLocked:
      return ExitCode::kKey;
    default:
      return ExitCode::kSource;
  }
}

/// Logs why the program ends, and returns its exit code.
inline ExitCode EndWith(ExitCode code, const std::string& why) {
  Log(LogLevel::kError, why);
  return code;
}

/// Returns the positive errno for a reader. Damage, what exceeds a limit of a
/// format, and I/O errors are EIO. EFBIG, for work that a request may not
/// cause, EMFILE and ENFILE, for the daemon's own limits, and ENOSPC, for its
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
