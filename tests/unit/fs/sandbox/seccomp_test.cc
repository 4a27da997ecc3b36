// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/io/directory.h"
#include "fs/log/relay.h"
#include "fs/sandbox/sandbox.h"
#include "tests/unit/testing/child.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

/// Whether the filter can be had and is in force.
bool Filter() {
  DenyNewPrivileges();
  const Result<bool> filter = FilterSyscalls();
  return filter && *filter;
}

class Seccomp : public testing::Test {
 protected:
  void SetUp() override {
    if (InChild([] { return Filter() ? 0 : 1; }) != 0) {
      GTEST_SKIP() << "no filter: a sanitizer, or a kernel without";
    }
  }
};

/// A system call that no serving thread makes.
struct Call {
  const char* name;
  std::function<int64_t()> make;
};

std::vector<Call> Refused() {
  const pid_t parent = ::getppid();
  static char byte = 0;
  static iovec place{&byte, 1};
  static char* const arguments[] = {nullptr};
  return {
      {"execve", [] { return ::execv("/bin/true", arguments); }},
      {"execveat",
       [] {
         return ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", arguments,
                          arguments, 0);
       }},
      {"fork", [] { return ::syscall(SYS_fork); }},
      {"vfork", [] { return ::syscall(SYS_clone, CLONE_VM | SIGCHLD, 0); }},
      {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
      {"process_vm_readv",
       [=] { return ::process_vm_readv(parent, &place, 1, &place, 1, 0); }},
      {"process_vm_writev",
       [=] { return ::process_vm_writev(parent, &place, 1, &place, 1, 0); }},
      {"pidfd_open", [=] { return ::syscall(SYS_pidfd_open, parent, 0); }},
      {"kill", [=] { return ::kill(parent, 0); }},
      {"tgkill", [=] { return ::syscall(SYS_tgkill, parent, parent, 0); }},
      {"tkill", [=] { return ::syscall(SYS_tkill, parent, 0); }},
      {"mount",
       [] { return ::mount("none", "/tmp", "tmpfs", MS_RDONLY, nullptr); }},
      {"umount2", [] { return ::umount2("/nothing", MNT_DETACH); }},
      {"pivot_root", [] { return ::syscall(SYS_pivot_root, "/", "/"); }},
      {"chroot", [] { return ::chroot("/"); }},
      {"unshare", [] { return ::unshare(CLONE_NEWUSER); }},
      {"setns", [] { return ::setns(0, 0); }},
      {"setuid", [] { return ::setuid(::getuid()); }},
      {"socket of UNIX", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }},
      {"socketpair",
       [] {
         int ends[2];
         return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
       }},
      {"connect", [] { return ::connect(0, nullptr, 0); }},
      {"sendto", [] { return ::sendto(1, "", 1, 0, nullptr, 0); }},
      {"sendmsg",
       [] {
         const msghdr message{};
         return ::sendmsg(1, &message, 0);
       }},
      {"pipe2",
       [] {
         int ends[2];
         return ::pipe2(ends, 0);
       }},
      {"splice",
       [] { return ::splice(0, nullptr, 1, nullptr, 1, SPLICE_F_NONBLOCK); }},
      {"vmsplice", [] { return ::vmsplice(1, &place, 1, SPLICE_F_NONBLOCK); }},
      {"setfsuid", [] { return ::syscall(SYS_setfsuid, 0); }},
      {"capset", [] { return ::syscall(SYS_capset, nullptr, nullptr); }},
      {"socket of TCP", [] { return ::socket(AF_INET, SOCK_STREAM, 0); }},
      {"socket of UDP 6", [] { return ::socket(AF_INET6, SOCK_DGRAM, 0); }},
      {"socket of netlink", [] { return ::socket(AF_NETLINK, SOCK_RAW, 0); }},
      {"bpf", [] { return ::syscall(SYS_bpf, BPF_MAP_CREATE, nullptr, 0); }},
      {"perf_event_open",
       [] { return ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0); }},
      {"io_uring_setup",
       [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
      {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 0); }},
      {"memfd_create", [] { return ::memfd_create("x", 0); }},
      {"keyctl", [] { return ::syscall(SYS_keyctl, 0, 0, 0, 0, 0); }},
      {"unlink", [] { return ::unlink("/nothing"); }},
      {"mkdir", [] { return ::mkdir("/nothing/there", 0); }},
      {"ftruncate", [] { return ::ftruncate(0, 0); }},
      {"fchmod", [] { return ::fchmod(0, 0); }},
      {"pwrite64", [] { return ::pwrite(1, "", 0, 0); }},
      {"ioctl", [] { return ::ioctl(0, TIOCSTI, ""); }},
      {"prctl", [] { return ::prctl(PR_SET_DUMPABLE, 1); }},
      {"mmap to execute",
       [] {
         return reinterpret_cast<int64_t>(
             ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
       }},
      {"mprotect to execute",
       [] {
         void* const page = ::mmap(nullptr, 4096, PROT_READ,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return ::mprotect(page, 4096, PROT_READ | PROT_EXEC);
       }},
  };
}

TEST_F(Seccomp, RefusesCallsThatServingDoesNotNeed) {
  for (const Call& call : Refused()) {
    EXPECT_EQ(InChild([&] {
                if (!Filter()) return 1;
                errno = 0;
                if (call.make() != -1) return 2;
                return errno == EPERM ? 0 : 3;
              }),
              0)
        << call.name;
  }
}

TEST_F(Seccomp, Item30_3_WhatParsesBeforeAMountMakesNoSocket) {
  const std::string_view ways[] = {"socket of TCP",
                                   "socket of UDP 6",
                                   "socket of UNIX",
                                   "socket of netlink",
                                   "socketpair",
                                   "connect",
                                   "execve",
                                   "execveat",
                                   "bpf"};
  size_t tried = 0;
  for (const Call& call : Refused()) {
    if (std::find(std::begin(ways), std::end(ways), call.name) ==
        std::end(ways)) {
      continue;
    }
    ++tried;
    EXPECT_EQ(InChild([&] {
                DenyNewPrivileges();
                const Result<bool> filter = FilterLeavingSyscalls();
                if (!filter || !*filter) return 1;
                errno = 0;
                if (call.make() != -1) return 2;
                return errno == EPERM ? 0 : 3;
              }),
              0)
        << call.name;
  }
  EXPECT_EQ(tried, std::size(ways));
}

TEST_F(Seccomp, LetsFilesBeRead) {
  const TempDir dir;
  dir.Write("file", "0123456789");
  EXPECT_EQ(InChild([&] {
              if (!Filter()) return 1;
              const auto source = DirectorySource::Open(dir.Path(""));
              if (!source || !(*source)->List(Request())) return 2;
              const auto file = (*source)->OpenBeside("file", Request());
              if (!file) return 3;
              std::string bytes(4, ' ');
              const Status read = (*file)->ReadAt(
                  3, {reinterpret_cast<std::byte*>(bytes.data()), 4},
                  Request());
              return read && bytes == "3456" ? 0 : 4;
            }),
            0);
}

// As libfuse ends its workers.
TEST_F(Seccomp, LetsThreadsBeStartedAndCancelledAndHoldsForThem) {
  EXPECT_EQ(InChild([] {
              if (!Filter()) return 1;
              int refused = 0;
              std::thread([&] {
                std::thread([&] {
                  if (::kill(::getppid(), 0) == -1) refused = errno;
                }).join();
              }).join();
              if (refused != EPERM) return 2;
              std::thread waiting([] { ::poll(nullptr, 0, -1); });
              if (::pthread_cancel(waiting.native_handle()) != 0) return 3;
              waiting.join();
              return 0;
            }),
            0);
}

TEST_F(Seccomp, LeavesTheThreadThatStartedItAlone) {
  EXPECT_EQ(InChild([] {
              bool filtered = false;
              std::thread([&] { filtered = Filter(); }).join();
              if (!filtered) return 1;
              return ::kill(::getppid(), 0) == 0 ? 0 : 2;
            }),
            0);
}

TEST_F(Seccomp, AllowsMemoryToBeAllocated) {
  EXPECT_EQ(InChild([] {
              if (!Filter()) return 1;
              std::vector<std::unique_ptr<std::string>> much;
              for (int i = 0; i < 100; ++i) {
                much.push_back(std::make_unique<std::string>(1 << 20, 'x'));
              }
              return 0;
            }),
            0);
}

TEST_F(Seccomp, AllowsTheLogRelay) {
  Result<std::unique_ptr<LogRelay>> relay = LogRelay::Make({});
  ASSERT_TRUE(relay);
  EXPECT_EQ(InChild([&] {
              if (!Filter()) return 1;
              return (*relay)->Send(LogLevel::kError, "from within") ? 0 : 2;
            }),
            0);
  std::string got;
  (*relay)->Stop();
  (*relay)->Run([&](LogLevel /*level*/, const std::string& message) {
    got = message;
    return true;
  });
  EXPECT_EQ(got, "from within");
}

}  // namespace
}  // namespace ctxfs
