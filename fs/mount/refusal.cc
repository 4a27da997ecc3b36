// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/refusal.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/text/text.h"
#include "core/io/fd.h"

namespace ctxfs {
namespace {

/// Whether libfuse finds fusermount3 in its own directory or in PATH.
bool HasFusermount() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(std::string("/usr/bin:/bin:") +
                             (path != nullptr ? path : ""));
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((folder + "/fusermount3").c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool UsersMayAllowOthers() {
  std::ifstream file("/etc/fuse.conf");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (words >> word && word == "user_allow_other") return true;
  }
  return false;
}

/// Returns why /dev/fuse cannot be opened; empty if it can.
std::string DeviceFault() {
  const std::string device = "/dev/fuse";
  if (Fd(::open(device.c_str(), O_RDWR | O_CLOEXEC)).ok()) return "";
  const std::string in_container =
      "start a container with '--device /dev/fuse'";
  if (errno == ENOENT) {
    return device + " does not exist: load the module with 'modprobe fuse', " +
           in_container;
  }
  if (errno == ENODEV || errno == ENXIO) {
    return device + " has no driver: load the module with 'modprobe fuse'";
  }
  return device + " cannot be opened: " + std::strerror(errno) + "; " +
         in_container;
}

}  // namespace

std::string WhyRefused(bool allow_others) {
  if (std::string fault = DeviceFault(); !fault.empty()) return fault;
  if (::prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 0) {
    return "this container may not mount: start it with '--cap-add SYS_ADMIN' "
           "and, where AppArmor is used, '--security-opt apparmor=unconfined'";
  }
  if (::geteuid() != 0) {
    if (!HasFusermount()) {
      return "fusermount3 is not installed: install the package fuse3";
    }
    if (allow_others && !UsersMayAllowOthers()) {
      return "allow_other and allow_root need the line 'user_allow_other' in "
             "/etc/fuse.conf";
    }
    return "the line of fusermount3 above has the reason";
  }
  return "the line of fuse above has the reason";
}

std::string WhyNotUnmounted(const std::string& path, int failed) {
  const std::string what = Quote(path) + ": ";
  switch (failed) {
    case EINVAL:
      return what + "not a mount point";
    case EBUSY:
      return what +
             "busy: 'fuser -vm' shows the processes that use it; "
             "'umount -l' detaches it at once";
    default:
      return what + std::strerror(failed);
  }
}

}  // namespace ctxfs
