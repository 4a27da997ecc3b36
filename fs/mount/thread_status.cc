// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/thread_status.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>

#include "core/io/fd.h"

namespace ctxfs {

std::string ThreadStatus(uint64_t thread) {
  const std::string path = fmt::format("/proc/{}/status", thread);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) return "";
  std::array<char, 8192> bytes;
  const ssize_t got = ::read(file.get(), bytes.data(), bytes.size());
  return got > 0 ? std::string(bytes.data(), static_cast<size_t>(got)) : "";
}

}  // namespace ctxfs
