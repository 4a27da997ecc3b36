// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/confinement.h"

#include "core/vfs/log.h"
#include "fs/sandbox/privileges.h"
#include "fs/sandbox/sandbox.h"
#include "fs/sandbox/seccomp.h"

namespace ctxfs {
namespace {

void Restrict(const std::vector<std::string>& trees) {
  const Result<int> sandbox = EnterSandbox(trees);
  if (!sandbox) {
    Log(LogLevel::kWarning, "sandbox is off: " + sandbox.error().Text());
  } else if (*sandbox == 0) {
    Log(LogLevel::kInfo,
        "sandbox is off: the kernel does not support Landlock");
  }
}

void Drop(const Privileges& kept) {
  if (DropPrivileges(kept)) {
    Log(LogLevel::kInfo, "serving " + kept.Text());
  } else {
    Log(LogLevel::kWarning, "cannot drop privileges");
  }
}

void Filter(const Confinement& confinement) {
  const Result<bool> filter =
      FilterSyscalls(confinement.watches, confinement.spill_file,
                     confinement.channel, confinement.measures);
  if (!filter) {
    Log(LogLevel::kWarning,
        "system call filter is off: " + filter.error().Text());
  } else if (!*filter) {
    Log(LogLevel::kInfo,
        "system call filter is off: not supported by the kernel or by this "
        "build");
  }
}

}  // namespace

void Confine(const Confinement& confinement) {
  const Privileges kept = confinement.container.empty()
                              ? Privileges{.nobody = false, .read_all = true}
                              : LeastPrivileges(confinement.container);
  // The order matters. Restrict comes before Drop, because it opens directories
  // that perhaps only the user of the process can open. Filter comes last,
  // because it refuses calls that the other two need.
  Restrict(confinement.trees);
  Drop(kept);
  Filter(confinement);
}

}  // namespace ctxfs
