// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sys/inotify.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/io/fd.h"
#include "fs/sandbox/confinement.h"
#include "fs/sandbox/privileges.h"
#include "fs/sandbox/sandbox.h"
#include "fs/sandbox/seccomp.h"
#include "tests/unit/testing/child.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {

inline bool HasLandlock() {
  return InChild([] {
           const Result<int> entered = EnterSandbox({});
           return entered && *entered >= 3 ? 0 : 1;
         }) == 0;
}

inline bool HasFilter() {
  return InChild([] {
           DenyNewPrivileges();
           const Result<bool> filter = FilterSyscalls();
           return filter && *filter ? 0 : 1;
         }) == 0;
}

/// A container that everyone may read in `in`, and other files outside of it.
class ConfinementTest : public testing::Test {
 protected:
  void SetUp() override {
    namespace fs = std::filesystem;
    fs::permissions(dir_.Path(""), fs::perms(0755));
    for (const fs::path& path : {in_, out_, secret_})
      fs::create_directory(path);
    std::ofstream(container_) << "container";
    std::ofstream(out_ / "file") << "outside";
    std::ofstream(secret_ / "file") << "secret";
    fs::permissions(secret_, fs::perms(0700));
    if (!HasLandlock() || !HasFilter()) {
      GTEST_SKIP() << "needs Landlock and seccomp, and no sanitizer";
    }
  }

  /// The errno of `attempt` in the confinement; 0 if it succeeds.
  int Try(const std::function<int64_t()>& attempt) const {
    return InChild([&] {
      // As on a system whose /dev/fuse everyone may open.
      (void)DropPrivileges({.nobody = true, .read_all = false});
      Confine({{in_}, container_, /*watches=*/true});
      errno = 0;
      return attempt() == -1 ? errno : 0;
    });
  }

  TempDir dir_;
  const std::filesystem::path in_ = dir_.Path("in");
  const std::filesystem::path out_ = dir_.Path("out");
  const std::filesystem::path secret_ = dir_.Path("secret");
  const std::filesystem::path container_ = in_ / "file";
  const Fd watch_{::inotify_init1(IN_CLOEXEC)};
};

}  // namespace ctxfs
