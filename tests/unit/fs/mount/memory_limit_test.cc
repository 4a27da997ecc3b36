// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/base/limits.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

using limits::kGiB;
using limits::kMiB;

/// A directory that stands for the root of the system.
class Root {
 public:
  explicit Root(const std::string& groups_of_process) {
    Write("/proc/self/cgroup", groups_of_process);
  }

  void Write(const std::string& path, const std::string& text) const {
    const std::string name = "root" + path;
    std::filesystem::create_directories(
        std::filesystem::path(directory_.Path(name)).parent_path());
    directory_.Write(name, text);
  }

  uint64_t Limit() const { return MemoryLimit(directory_.Path("root")); }

 private:
  TempDir directory_;
};

TEST(MemoryLimit, IsThatOfTheMachineWithoutGroups) {
  const uint64_t machine = Root("").Limit();
  EXPECT_GT(machine, 64 * kMiB);
  EXPECT_EQ(Root("no group\n:\n::\n7:memory:\n").Limit(), machine);
}

TEST(MemoryLimit, IsTheLeastOfAGroupAndThoseAboveIt) {
  const Root root("0::/pod/container\n");
  root.Write("/sys/fs/cgroup/memory.max", "max\n");
  root.Write("/sys/fs/cgroup/pod/memory.max", "33554432\n");
  root.Write("/sys/fs/cgroup/pod/container/memory.max", "67108864\n");
  root.Write("/sys/fs/cgroup/pod/other/memory.max", "1\n");
  EXPECT_EQ(root.Limit(), 32 * kMiB);
}

TEST(MemoryLimit, OfVersionOneIsInItsOwnHierarchy) {
  const Root root("9:pids:/a\n4:memory:/a\n0::/\n");
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes",
             "9223372036854771712\n");
  root.Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "50331648\n");
  EXPECT_EQ(root.Limit(), 48 * kMiB);
}

TEST(MemoryLimit, OfAContainerThatSeesNoGroupsAboveItIsAtTheTop) {
  const Root root("0::/docker/0123\n");
  root.Write("/sys/fs/cgroup/memory.max", "41943040\n");
  EXPECT_EQ(root.Limit(), 40 * kMiB);
}

TEST(DefaultCacheBytes, IsAnEighthWithinBounds) {
  EXPECT_EQ(DefaultCacheBytes(4 * kGiB), 512 * kMiB);
  EXPECT_EQ(DefaultCacheBytes(1), 64 * kMiB);
  EXPECT_EQ(DefaultCacheBytes(UINT64_MAX), 2 * kGiB);
}

}  // namespace
}  // namespace ctxfs
