// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the Error for a system call that failed with `number`: kNoMemory,
/// kTooManyFiles (EMFILE, ENFILE), or kIo. The text is "WHAT: strerror".
inline Error SystemError(const std::string& what, int number,
                         uint64_t offset = kNoOffset) {
  Code code = Code::kIo;
  if (number == ENOMEM) code = Code::kNoMemory;
  if (number == EMFILE || number == ENFILE) code = Code::kTooManyFiles;
  return {code, what + ": " + std::strerror(number), offset, number};
}

/// Like SystemError, for the current errno.
inline Error IoError(const std::string& what, uint64_t offset = kNoOffset) {
  return SystemError(what, errno, offset);
}

/// Returns the Error of a read at `offset` that extends past the end.
inline Error PastTheEnd(uint64_t offset) {
  return {Code::kCorrupt, "read past the end", offset};
}

}  // namespace ctxfs
