// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <memory>

namespace ctxfs {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

InheritedDescriptors InheritedDescriptors::Find() {
  InheritedDescriptors found;
  const std::unique_ptr<DIR, CloseDirectory> directory(
      ::opendir("/proc/self/fd"));
  if (directory == nullptr) {
    // Without /proc no path can name inherited descriptors, so they can be
    // closed now.
    (void)::syscall(SYS_close_range, STDERR_FILENO + 1,
                    std::numeric_limits<unsigned>::max(), 0);
    return found;
  }
  while (const dirent* const entry = ::readdir(directory.get())) {
    const int descriptor = std::atoi(entry->d_name);  // 0 for "." and ".."
    if (descriptor <= STDERR_FILENO || descriptor == ::dirfd(directory.get())) {
      continue;
    }
    // With auto_unmount libfuse starts a program that lives as long as the
    // mount and must not inherit these descriptors.
    (void)::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    found.descriptors_.push_back(descriptor);
  }
  return found;
}

void InheritedDescriptors::Close() const {
  for (const int descriptor : descriptors_) ::close(descriptor);
}

}  // namespace ctxfs
