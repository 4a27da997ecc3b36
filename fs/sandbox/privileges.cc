// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/privileges.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

#include "core/io/fd.h"

namespace ctxfs {
namespace {

constexpr uid_t kNobody = 65534;

/// Opens files as nobody from now on. Unlike glibc's wrappers for setuid and
/// setgroups, these calls change only the calling thread.
bool BecomeNobody() {
  if (::syscall(SYS_setgroups, 0, nullptr) != 0) return false;
  // setfsgid and setfsuid return the previous ID, and fail silently.
  ::setfsgid(kNobody);
  ::setfsuid(kNobody);
  constexpr auto kNone = static_cast<uid_t>(-1);
  return static_cast<uid_t>(::setfsgid(kNone)) == kNobody &&
         static_cast<uid_t>(::setfsuid(kNone)) == kNobody;
}

/// Reduces the thread's capabilities to their intersection with `kept`.
bool KeepCapabilities(uint64_t kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; ++i) {
    sets[i].permitted &= static_cast<uint32_t>(kept >> (32 * i));
    sets[i].effective = sets[i].permitted;
    sets[i].inheritable = 0;
  }
  return ::syscall(SYS_capset, &header, sets) == 0;
}

/// Whether a thread with `privileges` can open `container` and the FUSE device.
bool Suffices(const Privileges& privileges, const std::string& container) {
  bool opened = false;
  std::thread([&] {
    if (!DropPrivileges(privileges)) return;
    const Fd file(::open(container.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    const Fd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    opened = file.ok() && device.ok();
  }).join();
  return opened;
}

}  // namespace

std::string Privileges::Text() const {
  return std::string(nobody ? "as nobody, " : "as the user of the process, ") +
         (read_all ? "with CAP_DAC_READ_SEARCH" : "without capabilities");
}

Privileges LeastPrivileges(const std::string& container) {
  for (const Privileges& one : {Privileges{true, false}, Privileges{}}) {
    if (Suffices(one, container)) return one;
  }
  return {.nobody = false, .read_all = true};
}

bool DropPrivileges(const Privileges& kept) {
  // Drops the bounding set: capabilities that a program could regain by execve.
  // That needs CAP_SETPCAP; if it fails, no harm is done where nothing can be
  // executed.
  for (int one = 0; ::prctl(PR_CAPBSET_DROP, one, 0, 0, 0) == 0; ++one) {
  }
  if (kept.nobody && !BecomeNobody()) return false;
  constexpr uint64_t kReadAll = uint64_t{1} << CAP_DAC_READ_SEARCH;
  return KeepCapabilities(kept.read_all ? kReadAll : 0);
}

}  // namespace ctxfs
