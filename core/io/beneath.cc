// SPDX-License-Identifier: Apache-2.0
#include "core/io/beneath.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "core/io/walk.h"

namespace ctxfs {

Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kNotFound, "is no file's name"};
  }
  Result<Fd> base = FindPath(directory, O_DIRECTORY);
  if (!base) return std::move(base).error();
  Result<Fd> found = FindPathBelow(std::move(*base), path, flags);
  if (found) return found;
  const int number = found.error().sys_errno;
  if (number == ENOENT || number == ENOTDIR) {
    return Error{Code::kNotFound, "there is no such file"};
  }
  if (number == EXDEV) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  return found;
}

}  // namespace ctxfs
