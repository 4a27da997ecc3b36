// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/io/directory.h"
#include "tests/unit/testing/child.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

/// The errno of opening `path`, 0 for none.
int Opening(const std::filesystem::path& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

class Sandbox : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(in_ / "below");
    std::filesystem::create_directories(out_);
    std::ofstream(in_ / "below" / "file") << "inside";
    std::ofstream(out_ / "file") << "outside";
    std::filesystem::create_symlink(out_ / "file", in_ / "link");
    if (InChild([&] {
          return EnterSandbox({in_}).has_value() && *EnterSandbox({in_}) > 0
                     ? 0
                     : 1;
        }) != 0) {
      GTEST_SKIP() << "the kernel has no Landlock";
    }
  }

  bool Enter() const { return EnterSandbox({in_.string()}).has_value(); }

  TempDir dir_;
  const std::filesystem::path in_ = dir_.Path("in");
  const std::filesystem::path out_ = dir_.Path("out");
};

TEST_F(Sandbox, ReadsItsTreesAndNothingElse) {
  EXPECT_EQ(InChild([&] {
              if (!Enter()) return 1;
              if (Opening(in_ / "below" / "file", O_RDONLY) != 0) return 2;
              if (Opening(in_, O_RDONLY | O_DIRECTORY) != 0) return 3;
              if (Opening(out_ / "file", O_RDONLY) != EACCES) return 4;
              if (Opening(in_ / "link", O_RDONLY) != EACCES) return 5;
              if (Opening("/etc/passwd", O_RDONLY) != EACCES) return 6;
              if (::opendir(out_.c_str()) != nullptr) return 7;
              return 0;
            }),
            0);
}

TEST_F(Sandbox, WritesAndMakesAndRunsNothing) {
  EXPECT_EQ(InChild([&] {
              if (!Enter()) return 1;
              if (Opening(in_ / "below" / "file", O_RDWR) != EACCES) return 2;
              if (Opening(in_ / "new", O_WRONLY | O_CREAT) != EACCES) return 3;
              if (::unlink((in_ / "below" / "file").c_str()) == 0) return 4;
              if (::mkdir((in_ / "made").c_str(), 0700) == 0) return 5;
              if (::rename((in_ / "below" / "file").c_str(),
                           (in_ / "other").c_str()) == 0) {
                return 6;
              }
              char* const arguments[] = {nullptr};
              ::execv("/bin/true", arguments);
              return errno == EACCES ? 0 : 7;
            }),
            0);
}

// What `ctxfs extract` does to its target, and nothing more.
TEST_F(Sandbox, Item28_13_FillsOneDirectoryWithoutReadingIt) {
  const std::filesystem::path target = dir_.Path("target");
  std::filesystem::create_directories(target);
  std::ofstream(target / "old") << "mine";
  EXPECT_EQ(
      InChild([&] {
        const Fd written(
            ::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!EnterSandbox({in_.string()}, written.get())) return 1;
        if (Opening(in_ / "below" / "file", O_RDONLY) != 0) return 2;
        if (Opening(target / "old", O_RDONLY) != EACCES) return 3;
        const int directory = written.get();
        if (::mkdirat(directory, "made", 0700) != 0) return 4;
        const Fd file(::openat(directory, "made/part",
                               O_WRONLY | O_CREAT | O_EXCL, 0600));
        if (!file.ok() || ::fsync(file.get()) != 0) return 5;
        if (::renameat(directory, "made/part", directory, "made/new") != 0) {
          return 6;
        }
        if (::linkat(directory, "made/new", directory, "made/link", 0) != 0) {
          return 7;
        }
        if (::unlinkat(directory, "made/link", 0) != 0) return 8;
        const Fd made(::openat(directory, "made", O_RDONLY));
        if (!made.ok() || ::fsync(made.get()) != 0) return 9;
        if (::symlinkat("/", directory, "link") != 0) return 10;
        if (::mkfifoat(directory, "fifo", 0600) == 0) return 11;
        if (Opening(in_ / "new", O_WRONLY | O_CREAT) != EACCES) return 12;
        if (Opening(out_ / "file", O_RDONLY) != EACCES) return 13;
        return Opening(dir_.Path("new"), O_WRONLY | O_CREAT) == EACCES ? 0 : 14;
      }),
      0);
}

TEST_F(Sandbox, HoldsForThreadsThatStartInIt) {
  EXPECT_EQ(InChild([&] {
              int inside = -1;
              std::thread first([&] {
                if (!Enter()) return;
                std::thread([&] {
                  inside = Opening(out_ / "file", O_RDONLY);
                }).join();
              });
              first.join();
              // The thread that started the first one stays outside, because
              // it has to unmount.
              if (Opening(out_ / "file", O_RDONLY) != 0) return 1;
              return inside == EACCES ? 0 : 2;
            }),
            0);
}

// How formats open their files: found without opening, then opened by number.
TEST_F(Sandbox, SourcesOpenWhatLiesBeneathThem) {
  EXPECT_EQ(InChild([&] {
              if (!Enter()) return 1;
              const auto source = DirectorySource::Open(in_.string());
              if (!source || !(*source)->List(Request())) return 2;
              if (!(*source)->OpenBeside("below/file", Request())) return 3;
              return (*source)->OpenBeside("link", Request()) ? 4 : 0;
            }),
            0);
}

TEST_F(Sandbox, GivesNoNewPrivileges) {
  EXPECT_EQ(InChild([&] {
              if (!Enter()) return 1;
              return ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : 2;
            }),
            0);
}

TEST_F(Sandbox, LetsTheFuseDeviceBeOpened) {
  if (Opening("/dev/fuse", O_RDWR) != 0) GTEST_SKIP() << "no FUSE here";
  EXPECT_EQ(InChild([&] {
              if (!Enter()) return 1;
              return Opening("/dev/fuse", O_RDWR) == 0 ? 0 : 2;
            }),
            0);
}

TEST_F(Sandbox, MissingPathsNeedNoPermission) {
  EXPECT_EQ(InChild([&] {
              return EnterSandbox({(in_ / "nothing").string()}) ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace ctxfs
