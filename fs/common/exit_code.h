// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/vfs/log.h"

namespace ctxfs {

/// Exit codes of the commands. The manual lists them, so they never change.
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

/// The exit code for failing to open a container or an entry.
inline ExitCode ExitCodeOf(const Error& error) {
  switch (error.code) {
    case Code::kNotContainer:
      return ExitCode::kNotContainer;
    case Code::kVersion:
    case Code::kUnsupported:
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

/// Logs why the program ends, and returns `code`.
inline ExitCode EndWith(ExitCode code, const std::string& why) {
  Log(LogLevel::kError, why);
  return code;
}

}  // namespace ctxfs
