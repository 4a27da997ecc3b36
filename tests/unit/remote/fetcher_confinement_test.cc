// SPDX-License-Identifier: Apache-2.0
//
// What a process that fetches URLs can still do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "core/base/sanitized.h"
#include "core/io/fd.h"
#include "fs/sandbox/sandbox.h"
#include "fs/sandbox/seccomp.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

class FetcherConfinement : public testing::Test {
 protected:
  /// The errno of `attempt` in a confined process; 0 if it succeeds.
  int Try(const std::function<bool()>& attempt) const {
    const pid_t child = ::fork();
    if (child == 0) {
      const Fd cache(::open(cache_.Path("").c_str(), O_RDONLY | O_DIRECTORY));
      const Result<int> sandbox = EnterFetcherSandbox({allowed_}, cache.get());
      if (!sandbox || *sandbox == 0) ::_exit(255);
      if (const Result<bool> filter = FilterFetcherSyscalls(); !filter) {
        ::_exit(255);
      }
      errno = 0;
      ::_exit(attempt() ? 0 : errno);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  static bool Opens(const std::string& path, int flags) {
    return Fd(::open(path.c_str(), flags, 0600)).ok();
  }

  TempDir cache_;
  TempDir outside_;
  const std::string allowed_ = outside_.Write("hosts", "h");
};

TEST_F(FetcherConfinement, Item30_3_UsesTheCacheAlone) {
  if (Try([] { return true; }) == 255) GTEST_SKIP() << "no Landlock";
  const std::string secret = outside_.Write("secret", "s");
  EXPECT_EQ(Try([&] { return Opens(secret, O_RDONLY); }), EACCES);
  EXPECT_EQ(Try([&] { return Opens("/etc/passwd", O_RDONLY); }), EACCES);
  EXPECT_EQ(Try([&] { return Opens(allowed_, O_WRONLY); }), EACCES);
  EXPECT_EQ(Try([&] { return Opens("/dev/fuse", O_RDWR); }), EACCES);
  EXPECT_EQ(Try([&] { return Opens(outside_.Path("x"), O_WRONLY | O_CREAT); }),
            EACCES);
  EXPECT_EQ(Try([&] { return Opens(allowed_, O_RDONLY); }), 0);
  EXPECT_EQ(Try([&] { return Opens(cache_.Path("x"), O_WRONLY | O_CREAT); }),
            0);
  EXPECT_EQ(Try([&] {
              return ::mkdirat(AT_FDCWD, cache_.Path("d").c_str(), 0700) == 0;
            }),
            0);
}

TEST_F(FetcherConfinement, Item30_3_ConnectsAndDoesNotListen) {
  if (CTXFS_SANITIZED) GTEST_SKIP() << "there is no filter of calls";
  if (Try([] { return true; }) == 255) GTEST_SKIP() << "no Landlock";
  const auto socket = [] { return ::socket(AF_INET, SOCK_STREAM, 0); };
  sockaddr_in nobody{};
  nobody.sin_family = AF_INET;
  nobody.sin_port = htons(1);
  nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const address = reinterpret_cast<const sockaddr*>(&nobody);
  EXPECT_EQ(
      Try([&] { return ::connect(socket(), address, sizeof(nobody)) == 0; }),
      ECONNREFUSED);
  EXPECT_EQ(Try([&] { return ::listen(socket(), 1) == 0; }), EPERM);
  EXPECT_EQ(Try([] { return ::execl("/bin/true", "true", nullptr) == 0; }),
            EPERM);
  EXPECT_EQ(Try([] { return ::fork() >= 0; }), EPERM);
}

}  // namespace
}  // namespace ctxfs
