// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "core/codec/crypto/digest.h"
#include "core/io/fd.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// landlock_ruleset_attr of a recent linux/landlock.h; the installed header may
// be older.
struct RulesetAttr {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // from interface 4
  uint64_t scoped;              // from interface 6
};
constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kReadDir = LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWriteFile = LANDLOCK_ACCESS_FS_WRITE_FILE;
// The access that NewFile and TargetTree (fs/commands) need below a directory.
constexpr uint64_t kFill = kReadDir | kWriteFile | LANDLOCK_ACCESS_FS_MAKE_REG |
                           LANDLOCK_ACCESS_FS_MAKE_DIR |
                           LANDLOCK_ACCESS_FS_MAKE_SYM |
                           LANDLOCK_ACCESS_FS_REMOVE_FILE;
constexpr uint64_t kRefer = uint64_t{1} << 13U;  // hard links, from interface 2
constexpr uint64_t kIoctlDevice = uint64_t{1} << 15U;  // from interface 5
constexpr uint64_t kConnectTcp = uint64_t{1} << 1U;    // from interface 4

/// All rights that interface `abi` can deny.
RulesetAttr AllOf(int abi) {
  RulesetAttr all{};
  unsigned rights = 13;
  if (abi >= 2) rights = 14;  // adds REFER: renaming between directories
  if (abi >= 3) rights = 15;  // adds TRUNCATE
  if (abi >= 5) rights = 16;  // adds IOCTL_DEV
  all.handled_access_fs = (uint64_t{1} << rights) - 1;
  if (abi >= 4) all.handled_access_net = 3;  // bind and connect
  if (abi >= 6) all.scoped = 3;  // abstract sockets, signals to others
  return all;
}

/// A Landlock rule set. Rules are added to it, and then it is enforced.
struct Ruleset {
  int abi;  // 0: the kernel has no Landlock
  Fd rules;
};

Result<Ruleset> NewRuleset(uint64_t free_network_access) {
  DenyNewPrivileges();
  const auto abi =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0,
                                 LANDLOCK_CREATE_RULESET_VERSION));
  if (abi < 1) return Ruleset{0, Fd(-1)};
  RulesetAttr all = AllOf(abi);
  all.handled_access_net &= ~free_network_access;
  const size_t size = abi >= 6   ? sizeof(all)
                      : abi >= 4 ? 2 * sizeof(uint64_t)
                                 : sizeof(uint64_t);
  Fd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &all, size, 0)));
  if (!ruleset.ok()) return IoError("cannot create the Landlock rules");
  return Ruleset{abi, std::move(ruleset)};
}

Result<int> Enforce(const Ruleset& ruleset) {
  if (::syscall(SYS_landlock_restrict_self, ruleset.rules.get(), 0) != 0) {
    return IoError("cannot enforce the Landlock rules");
  }
  return ruleset.abi;
}

/// Allows `access` to the open file or directory `at`, and below it.
Status AllowAt(int ruleset, int at, const std::string& path, uint64_t access) {
  landlock_path_beneath_attr rule{};
  rule.allowed_access = access;
  rule.parent_fd = at;
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
                &rule, 0) != 0) {
    return IoError("cannot add " + path + " to the Landlock rules");
  }
  return {};
}

/// Like AllowAt, for `path`. Ignores a path that does not exist.
Status Allow(int ruleset, const std::string& path, uint64_t access) {
  const Fd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!at.ok()) return {};
  return AllowAt(ruleset, at.get(), path, access);
}

/// Makes OpenSSL load the files that it needs for the first digest, which the
/// confined threads could not read. `options` are those of OPENSSL_init_crypto.
void LoadDigests(uint64_t options) {
  (void)OPENSSL_init_crypto(options, nullptr);
  Sha256 digest;
  (void)digest.Hex();
}

}  // namespace

void DenyNewPrivileges() { (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

Result<int> EnterSandbox(const std::vector<std::string>& trees, int written) {
  // Digests need neither the configuration nor names of ciphers, which would
  // take two thirds of a millisecond of each command.
  LoadDigests(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ADD_ALL_CIPHERS |
              OPENSSL_INIT_NO_ADD_ALL_DIGESTS |
              OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS);
  const Ruleset ruleset = CTXFS_TRY(NewRuleset(0));
  const int abi = ruleset.abi;
  if (abi == 0) return 0;
  const int rules = ruleset.rules.get();
  for (const std::string& tree : trees) {
    CTXFS_TRY(Allow(rules, tree, kReadFile | kReadDir));
  }
  if (written >= 0) {
    const uint64_t fill = kFill | (abi >= 2 ? kRefer : 0);
    CTXFS_TRY(AllowAt(rules, written, "a directory", fill));
  }
  // libfuse opens the device again for every worker.
  const uint64_t device =
      kReadFile | kWriteFile | (abi >= 5 ? kIoctlDevice : 0);
  CTXFS_TRY(Allow(rules, "/dev/fuse", device));
  return Enforce(ruleset);
}

Result<int> EnterFetcherSandbox(const std::vector<std::string>& files,
                                int directory) {
  LoadDigests(0);  // connections by TLS follow the configuration
  const Ruleset ruleset = CTXFS_TRY(NewRuleset(kConnectTcp));
  if (ruleset.abi == 0) return 0;
  for (const std::string& file : files) {
    CTXFS_TRY(Allow(ruleset.rules.get(), file, kReadFile));
  }
  if (directory >= 0) {
    constexpr uint64_t kKeep =
        kFill | kReadFile | LANDLOCK_ACCESS_FS_REMOVE_DIR;
    CTXFS_TRY(AllowAt(ruleset.rules.get(), directory, "the cache", kKeep));
  }
  return Enforce(ruleset);
}

Result<int> EnterRemoverSandbox(const std::string& directory) {
  const Ruleset ruleset = CTXFS_TRY(NewRuleset(0));
  if (ruleset.abi == 0) return 0;
  CTXFS_TRY(
      Allow(ruleset.rules.get(), directory, LANDLOCK_ACCESS_FS_REMOVE_DIR));
  return Enforce(ruleset);
}

}  // namespace ctxfs
