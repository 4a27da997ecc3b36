// SPDX-License-Identifier: Apache-2.0
//
// The privileges of a thread that serves files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "fs/sandbox/confinement.h"
#include "fs/sandbox/privileges.h"
#include "tests/unit/testing/confinement.h"

namespace ctxfs {
namespace {

/// The fields of /proc/PID/status of a process that did `work`.
std::map<std::string, std::string> StatusAfter(
    const std::function<void()>& work) {
  int ready[2];
  int done[2];
  EXPECT_EQ(::pipe(ready) | ::pipe(done), 0);
  const pid_t child = ::fork();
  char byte = 0;
  if (child == 0) {
    ::close(done[1]);
    work();
    (void)!::write(ready[1], &byte, 1);
    (void)!::read(done[0], &byte, 1);
    ::_exit(0);
  }
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  std::ifstream status("/proc/" + std::to_string(child) + "/status");
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(status, line);) {
    const size_t colon = line.find(":\t");
    if (colon == std::string::npos) continue;
    fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
  ::waitpid(child, nullptr, 0);
  return fields;
}

constexpr const char* kNoCapabilities = "0000000000000000";

class AsRoot : public ConfinementTest {
 protected:
  void SetUp() override {
    ConfinementTest::SetUp();
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  }
  std::map<std::string, std::string> Status() const {
    return StatusAfter([&] { Confine({{in_}, container_}); });
  }
};

TEST_F(AsRoot, ServesAContainerThatEveryoneMayReadAsNobody) {
  struct stat device {};
  constexpr mode_t kPublic = S_IROTH | S_IWOTH;
  if (::stat("/dev/fuse", &device) != 0 ||
      (device.st_mode & kPublic) != kPublic) {
    GTEST_SKIP() << "/dev/fuse is root's alone";
  }
  EXPECT_EQ(Status()["Uid"], "0\t0\t0\t65534");
}

TEST_F(AsRoot, BecomesNobodyForFileAccessAlone) {
  auto status = StatusAfter([&] {
    if (!DropPrivileges({.nobody = true, .read_all = false})) return;
    Confine({{in_}, container_});
  });
  for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(status[set], kNoCapabilities) << set;
  }
  // Real, effective, saved, and for file access.
  EXPECT_EQ(status["Uid"], "0\t0\t0\t65534");
  EXPECT_EQ(status["Gid"], "0\t0\t0\t65534");
  EXPECT_EQ(status["Groups"], " ");
  EXPECT_EQ(status["NoNewPrivs"], "1");
  EXPECT_EQ(status["Seccomp"], "2");
}

TEST_F(AsRoot, ServesAContainerOfRootAsRootWithoutCapabilities) {
  ASSERT_EQ(::chmod(container_.c_str(), 0600), 0);
  auto status = Status();
  EXPECT_EQ(status["CapEff"], kNoCapabilities);
  EXPECT_EQ(status["CapPrm"], kNoCapabilities);
  EXPECT_EQ(status["Uid"], "0\t0\t0\t0");
}

TEST_F(AsRoot, ServesAContainerThatOnlyAnotherUserMayReadWithOneCapability) {
  ASSERT_EQ(::chmod(container_.c_str(), 0600), 0);
  ASSERT_EQ(::chown(container_.c_str(), 12345, 12345), 0);
  auto status = Status();
  EXPECT_EQ(status["CapEff"], "0000000000000004");  // CAP_DAC_READ_SEARCH
  EXPECT_EQ(status["CapPrm"], "0000000000000004");
}

TEST_F(AsRoot, ServesADirectoryWithOneCapability) {
  auto status = StatusAfter([&] { Confine({{in_}, ""}); });
  EXPECT_EQ(status["CapEff"], "0000000000000004");
  EXPECT_EQ(status["CapPrm"], "0000000000000004");
}

TEST_F(AsRoot, KeepsThePrivilegesOfTheThreadThatWaits) {
  const std::string before = StatusAfter([] {})["CapEff"];
  auto status = StatusAfter([&] {
    std::thread([&] { Confine({{in_}, container_}); }).join();
  });
  EXPECT_EQ(status["CapEff"], before);
  EXPECT_EQ(status["Uid"], "0\t0\t0\t0");
}

}  // namespace
}  // namespace ctxfs
