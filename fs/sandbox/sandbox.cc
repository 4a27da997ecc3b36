// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "core/codec/digest.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// As in linux/landlock.h of the kernel, which may be newer than the header.
struct RulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // from interface 4
  uint64_t scoped;              // from interface 6
};
constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kReadDir = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr uint64_t kIoctlDevice = uint64_t{1} << 15U;  // from interface 5

/// Every right that interface `abi` can deny.
RulesetAttr AllOf(int abi) {
  RulesetAttr all{};
  unsigned rights = 13;
  if (abi >= 2) rights = 14;  // renaming between directories
  if (abi >= 3) rights = 15;  // truncating
  if (abi >= 5) rights = 16;  // controlling devices
  all.handled_access_fs = (uint64_t{1} << rights) - 1;
  if (abi >= 4) all.handled_access_net = 3;  // bind and connect
  if (abi >= 6) all.scoped = 3;  // abstract sockets and signals to others
  return all;
}

/// Allows `access` at `path` and below. A path that does not exist is ignored.
Status Allow(int ruleset, const std::string& path, uint64_t access) {
  const Fd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at.ok()) return {};
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = at.get();
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                &rule, 0) != 0) {
    return IoError("cannot add " + path + " to the Landlock rules");
  }
  return {};
}

/// Loads what OpenSSL reads from files when a digest is first used, which the
/// confined threads could not read.
void LoadDigests() {
  Sha256 digest;
  (void)digest.Hex();
}

}  // namespace

void DenyNewPrivileges() { (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

Result<int> EnterSandbox(const std::vector<std::string>& trees) {
  LoadDigests();
  DenyNewPrivileges();
  const auto abi =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                 LANDLOCK_CREATE_RULESET_VERSION));
  if (abi < 1) return 0;
  const RulesetAttr all = AllOf(abi);
  const size_t size = abi >= 6   ? sizeof(all)
                      : abi >= 4 ? 2 * sizeof(uint64_t)
                                 : sizeof(uint64_t);
  const Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &all, size, 0)));
  if (!ruleset.ok()) return IoError("cannot create the Landlock rules");
  for (const std::string& tree : trees) {
    Status allowed = Allow(ruleset.get(), tree, kReadFile | kReadDir);
    if (!allowed) return std::move(allowed).error();
  }
  // libfuse opens it again for every worker.
  const uint64_t device =
      kReadFile | kWriteFile | (abi >= 5 ? kIoctlDevice : 0);
  if (Status allowed = Allow(ruleset.get(), "/dev/fuse", device); !allowed) {
    return std::move(allowed).error();
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return IoError("cannot enforce the Landlock rules");
  }
  return abi;
}

}  // namespace ctxfs
