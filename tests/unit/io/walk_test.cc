// SPDX-License-Identifier: Apache-2.0
#include "core/io/walk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "core/io/mount_guard.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

/// Paths are walked in steps once the guard is started.
class Walk : public testing::Test {
 protected:
  Walk() {
    EXPECT_TRUE(Ok(MountGuard::Start()));
    fs::create_directories(dir_.Path("a/b/c"));
    dir_.Write("a/file", "1");
    dir_.Write("a/b/c/deep", "2");
    Link("b", "a/to_b");
    Link("to_b", "a/to_to_b");
    Link("../a/./b//c", "a/round");
    Link(dir_.Path("a/b"), "absolute");
    Link("/proc/self/status", "out");
    Link(dir_.Path("a/file"), "a/to_file");
    Link("../to_file", "a/b/to_to_file");
    Link("loop", "loop");
    Link("none", "dangling");
  }
  ~Walk() override { MountGuard::Stop(); }

  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, dir_.Path(name));
  }

  const TempDir dir_;
};

/// Compares what FindPath finds, and how it fails, with what the kernel does.
void ExpectAsTheKernel(const std::string& path, int flags) {
  SCOPED_TRACE(path);
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC | flags);
  const int number = fd < 0 ? errno : 0;
  const Fd expected(fd);
  const Result<Fd> found = FindPath(path, flags);
  ASSERT_EQ(found.has_value(), expected.ok());
  if (!found) {
    EXPECT_EQ(found.error().sys_errno, number);
    return;
  }
  struct stat one {};
  struct stat other {};
  ASSERT_EQ(::fstat(found->get(), &one), 0);
  ASSERT_EQ(::fstat(expected.get(), &other), 0);
  EXPECT_EQ(one.st_dev, other.st_dev);
  EXPECT_EQ(one.st_ino, other.st_ino);
}

/// Compares StatPath with stat(2).
void ExpectAsStat(const std::string& path) {
  SCOPED_TRACE(path);
  struct stat expected {};
  const int number = ::stat(path.c_str(), &expected) == 0 ? 0 : errno;
  const Result<struct stat> found = StatPath(path);
  ASSERT_EQ(found ? 0 : found.error().sys_errno, number);
  if (!found) return;
  EXPECT_EQ(found->st_dev, expected.st_dev);
  EXPECT_EQ(found->st_ino, expected.st_ino);
}

TEST_F(Walk, ExaminesAsStatWithAndWithoutAGuard) {
  for (const bool guarded : {true, false}) {
    if (!guarded) MountGuard::Stop();
    for (const char* name : {"a", "a/to_b/c/deep", "a/to_file", "a/to_file/",
                             "loop", "dangling", "a/file/x", "none"}) {
      ExpectAsStat(dir_.Path(name));
    }
  }
}

TEST_F(Walk, GoesWhereTheKernelGoes) {
  std::vector<std::string> paths = {"/",
                                    "//",
                                    "/proc",
                                    "/proc/self/status",
                                    "/proc/../proc/./sys/kernel/ostype",
                                    "/dev/null",
                                    "/dev/shm/..",
                                    "/sys/kernel",
                                    "/../..",
                                    "/none/x"};
  for (const char* name : {"",
                           "a",
                           "a/",
                           "a//b/../file",
                           "a/to_b/c/deep",
                           "a/to_to_b",
                           "a/round",
                           "a/round/deep",
                           "absolute/c/deep",
                           "absolute/../file",
                           "out",
                           "out/",
                           "a/to_file",
                           "a/to_file/",
                           "a/b/to_to_file",
                           "loop",
                           "loop/x",
                           "dangling",
                           "dangling/x",
                           "a/file",
                           "a/file/",
                           "a/file/x",
                           "a/file/..",
                           "none",
                           "a/none/b"}) {
    paths.push_back(dir_.Path(name));
  }
  for (const std::string& path : paths) {
    ExpectAsTheKernel(path, 0);
    ExpectAsTheKernel(path, O_DIRECTORY);
  }
}

TEST_F(Walk, StaysBelowItsBaseAcrossMounts) {
  const auto below = [](const std::string& base, const std::string& path) {
    return FindBeneath(base, path, 0);
  };
  // /proc and /dev/shm are file systems of their own.
  EXPECT_TRUE(Ok(below("/", "proc/sys/kernel")));
  EXPECT_TRUE(Ok(below("/", "proc/sys/../sys/kernel")));
  for (const char* path : {"..", "../a", "../proc/sys", "sys/../..", "/proc",
                           "sys/../../proc/sys"}) {
    const Result<Fd> found = below("/proc", path);
    ASSERT_FALSE(found.has_value()) << path;
    EXPECT_EQ(found.error().code, Code::kCorrupt) << path;
  }
}

TEST_F(Walk, OpensNothingForReading) {
  ASSERT_EQ(::mkfifo(dir_.Path("fifo").c_str(), 0600), 0);
  EXPECT_TRUE(Ok(FindPath(dir_.Path("fifo"))));
}

TEST(MountGuard, ForbidsNothingUntilItIsStarted) {
  EXPECT_FALSE(MountGuard::started());
  EXPECT_FALSE(MountGuard::Forbids(0));
  ASSERT_TRUE(Ok(MountGuard::Start()));
  struct stat st {};
  for (const char* path : {"/", "/proc", "/dev", "/sys"}) {
    ASSERT_EQ(::stat(path, &st), 0);
    EXPECT_FALSE(MountGuard::Forbids(st.st_dev)) << path;
  }
  MountGuard::Stop();
  EXPECT_FALSE(MountGuard::started());
}

TEST_F(Walk, Item41_1_FollowsNoLinkOnTheWay) {
  const std::string top = fs::canonical(dir_.Path(".")).string();
  const Result<Fd> deep = FindWithoutLinks(top + "/a/b/c/deep");
  ASSERT_TRUE(Ok(deep));
  EXPECT_EQ(deep->real_path(), top + "/a/b/c/deep");
  // At the end it is the link itself.
  const Result<Fd> link = FindWithoutLinks(top + "/a/to_b");
  ASSERT_TRUE(Ok(link));
  EXPECT_EQ(link->real_path(), top + "/a/to_b");
  for (const char* name : {"/a/to_b/c", "/a/to_to_b/c/deep", "/absolute/c",
                           "/loop/x", "/dangling/x"}) {
    const Result<Fd> found = FindWithoutLinks(top + name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().sys_errno, ELOOP) << name;
  }
  EXPECT_EQ(FindWithoutLinks(top + "/a/none").error().sys_errno, ENOENT);
  EXPECT_EQ(FindWithoutLinks(top + "/a/file/x").error().sys_errno, ENOTDIR);
  // Across a mount point, where the walk takes single steps.
  EXPECT_TRUE(Ok(FindWithoutLinks("/proc/sys/kernel/ostype")));
  EXPECT_EQ(FindWithoutLinks("/proc/self/stat").error().sys_errno, ELOOP);
}

}  // namespace
}  // namespace ctxfs
