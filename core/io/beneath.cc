// SPDX-License-Identifier: Apache-2.0
#include "core/io/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace ctxfs {

Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error{Code::kNotFound, "is no file's name"};
  }
  const Fd at(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at.ok()) {
    return Error{Code::kIo, std::string("its directory cannot be opened: ") +
                                std::strerror(errno)};
  }
  struct open_how how {};
  how.flags = static_cast<decltype(how.flags)>(O_PATH | O_CLOEXEC | flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const auto fd = static_cast<int>(
      ::syscall(SYS_openat2, at.get(), path.c_str(), &how, sizeof(how)));
  if (fd >= 0) return Fd(fd);
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) {
    return Error{Code::kNotFound, "there is no such file"};
  }
  if (error == EXDEV) {
    return Error{Code::kCorrupt, "leads out of the directory"};
  }
  return Error{Code::kIo,
               std::string("cannot be opened: ") + std::strerror(error)};
}

}  // namespace ctxfs
