// SPDX-License-Identifier: Apache-2.0
//
// What a thread that serves files could do if it were taken over. Each call
// that the filter allows is misused here, in the confinement of a real mount.
#include "fs/sandbox/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "core/io/fd.h"
#include "fs/sandbox/seccomp.h"
#include "tests/unit/testing/child.h"
#include "tests/unit/testing/confinement.h"

namespace ctxfs {
namespace {

/// An attempt to misuse a call, and the errno that stops it.
struct Misuse {
  int call;
  const char* what;
  int expected;
  std::function<int64_t()> attempt;
};

class Confined : public ConfinementTest {
 protected:
  std::vector<Misuse> OfFiles() const;
  std::vector<Misuse> OfNames() const;
  static std::vector<Misuse> OfMemory();
  std::vector<Misuse> OfDescriptors() const;
  static std::vector<Misuse> OfThreads();
  std::vector<Misuse> All() const;
};

int64_t OpenAt2(const std::filesystem::path& path, uint64_t flags) {
  open_how how{};
  how.flags = flags;
  if ((flags & O_CREAT) != 0) how.mode = 0600;
  return ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how));
}

std::vector<Misuse> Confined::OfFiles() const {
  struct Opening {
    const char* what;
    std::filesystem::path path;
    int flags;
  };
  const std::string parent = "/proc/" + std::to_string(::getpid());
  const Opening openings[] = {
      {"read outside of the tree", out_ / "file", O_RDONLY},
      {"read a system file", "/etc/passwd", O_RDONLY},
      {"list the root", "/", O_RDONLY | O_DIRECTORY},
      {"write the container", container_, O_RDWR},
      {"cut the container", container_, O_RDONLY | O_TRUNC},
      {"make a file", in_ / "new", O_RDONLY | O_CREAT},
      {"make a file without a name", in_, O_RDWR | O_TMPFILE},
      {"write own memory", "/proc/self/mem", O_RDWR},
      {"write the memory of another process", parent + "/mem", O_RDWR},
      {"read the environment of another process", parent + "/environ",
       O_RDONLY},
      {"write a device", "/dev/null", O_WRONLY},
  };
  std::vector<Misuse> all;
  for (const Opening& one : openings) {
    all.push_back({SYS_openat, one.what, EACCES, [one] {
                     return ::syscall(SYS_openat, AT_FDCWD, one.path.c_str(),
                                      one.flags, 0600);
                   }});
    all.push_back({SYS_openat2, one.what, EACCES, [one] {
                     return OpenAt2(one.path, static_cast<uint64_t>(one.flags));
                   }});
#ifdef SYS_open
    all.push_back({SYS_open, one.what, EACCES, [one] {
                     return ::syscall(SYS_open, one.path.c_str(), one.flags,
                                      0600);
                   }});
#endif
  }
  return all;
}

// Landlock does not restrict looking at names; permissions do.
std::vector<Misuse> Confined::OfNames() const {
  static struct stat st;
  static struct statx stx;
  static char text[256];
  const std::string secret = secret_ / "file";
  const std::string exe = "/proc/" + std::to_string(::getpid()) + "/exe";
  std::vector<Misuse> all = {
      {SYS_readlinkat, "find the program of another process", EACCES,
       [=] {
         return ::syscall(SYS_readlinkat, AT_FDCWD, exe.c_str(), text,
                          sizeof(text));
       }},
#ifdef SYS_readlink
      {SYS_readlink, "find the program of another process", EACCES,
       [=] {
         return ::syscall(SYS_readlink, exe.c_str(), text, sizeof(text));
       }},
#endif
  };
  if (::geteuid() != 0) return all;  // the secret is our own
  const int watch = watch_.get();
  all.push_back(
      {SYS_inotify_add_watch, "watch a private directory", EACCES, [=, this] {
         return ::inotify_add_watch(watch, secret_.c_str(), IN_OPEN);
       }});
  all.push_back({SYS_newfstatat, "look into a private directory", EACCES, [=] {
                   return ::syscall(SYS_newfstatat, AT_FDCWD, secret.c_str(),
                                    &st, 0);
                 }});
  all.push_back({SYS_statx, "look into a private directory", EACCES, [=] {
                   return ::syscall(SYS_statx, AT_FDCWD, secret.c_str(), 0, 0,
                                    &stx);
                 }});
#ifdef SYS_stat
  all.push_back({SYS_stat, "look into a private directory", EACCES,
                 [=] { return ::syscall(SYS_stat, secret.c_str(), &st); }});
  all.push_back({SYS_lstat, "look into a private directory", EACCES,
                 [=] { return ::syscall(SYS_lstat, secret.c_str(), &st); }});
#endif
  return all;
}

int64_t Pointer(const void* pointer) { return pointer == MAP_FAILED ? -1 : 0; }

/// Returns whether the kernel can mark memory as faulty; else that is EINVAL.
bool CanPoison() {
  std::ifstream meminfo("/proc/meminfo");
  const std::string text{std::istreambuf_iterator<char>(meminfo), {}};
  return text.find("HardwareCorrupted") != std::string::npos;
}

std::vector<Misuse> Confined::OfMemory() {
  constexpr size_t kPage = 4096;
  const auto map = [](int protection) {
    return ::mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                  0);
  };
  const auto lock = [=](int call) {
    return [=] {
      void* const page = map(PROT_READ | PROT_WRITE);
      return ::syscall(call, page, kPage, 0);
    };
  };
  return {
      {SYS_mmap, "map memory to execute", EPERM,
       [=] { return Pointer(map(PROT_READ | PROT_EXEC)); }},
      {SYS_mprotect, "make memory executable", EPERM,
       [=] {
         return ::mprotect(map(PROT_READ), kPage, PROT_READ | PROT_EXEC);
       }},
      {SYS_madvise, "mark memory as faulty", CanPoison() ? EPERM : EINVAL,
       [=] {
         return ::madvise(map(PROT_READ | PROT_WRITE), kPage, MADV_HWPOISON);
       }},
      {SYS_mlock, "lock more memory than the limit", EPERM, lock(SYS_mlock)},
      {SYS_mlock2, "lock more memory than the limit", EPERM, lock(SYS_mlock2)},
  };
}

std::vector<Misuse> Confined::OfDescriptors() const {
  static char byte = 0;
  static iovec place{&byte, 1};
  const auto with = [path =
                         container_](const std::function<int64_t(int)>& use) {
    return [=] { return use(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); };
  };
  const auto control = [=](int command, int64_t argument) {
    return with(
        [=](int fd) { return ::syscall(SYS_fcntl, fd, command, argument); });
  };
  return {
      {SYS_write, "write to the container", EBADF,
       with([](int fd) { return ::write(fd, "x", 1); })},
      {SYS_pwrite64, "write to the container", EPERM,
       with([](int fd) { return ::pwrite(fd, "x", 1, 0); })},
      {SYS_recvmsg, "receive a descriptor", EPERM,
       [] {
         static msghdr message{};
         return ::syscall(SYS_recvmsg, STDIN_FILENO, &message, 0);
       }},
      {SYS_fallocate, "cut a hole into the container", EPERM, with([](int fd) {
         return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                            1);
       })},
      {SYS_fstatfs, "ask how full another disk is", EPERM, with([](int fd) {
         struct statfs disk {};
         return ::fstatfs(fd, &disk);
       })},
      {SYS_writev, "write to the container", EBADF,
       with([](int fd) { return ::writev(fd, &place, 1); })},
      {SYS_mmap, "write to the container by its pages", EACCES,
       with([](int fd) {
         return Pointer(
             ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
       })},
      {SYS_getdents64, "list through a path descriptor", EBADF,
       [] {
         const int fd = ::open("/", O_PATH | O_CLOEXEC);
         return ::syscall(SYS_getdents64, fd, &byte, 1);
       }},
      // A descriptor signals the process of F_SETOWN with the signal of
      // F_SETSIG: root could so kill any process.
      {SYS_fcntl, "choose a process to signal", EPERM,
       control(F_SETOWN, ::getpid())},
      {SYS_fcntl, "choose a process to signal", EPERM, control(F_SETOWN_EX, 0)},
      {SYS_fcntl, "choose a signal", EPERM, control(F_SETSIG, SIGKILL)},
      {SYS_fcntl, "be signalled", EPERM, control(F_SETFL, O_ASYNC)},
      {SYS_fcntl, "stop writers of the container", EPERM,
       control(F_SETLEASE, F_RDLCK)},
      {SYS_fcntl, "watch a directory", EPERM, control(F_NOTIFY, DN_MODIFY)},
      {SYS_ioctl, "type into a terminal", EPERM,
       with([](int fd) { return ::ioctl(fd, TIOCSTI, "x"); })},
      {SYS_ioctl, "control a file", EPERM,
       with([](int fd) { return ::ioctl(fd, FIONREAD, &byte); })},
  };
}

std::vector<Misuse> Confined::OfThreads() {
  constexpr int kThread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
  const pid_t parent = ::getpid();
  const auto clone = [](int flags) {
    return [flags] { return ::syscall(SYS_clone, flags, 0, 0, 0, 0); };
  };
  return {
      {SYS_clone, "start a process", EPERM, clone(SIGCHLD)},
      {SYS_clone, "start a process that shares memory", EPERM,
       clone(CLONE_VM | SIGCHLD)},
      {SYS_clone, "enter a user namespace", EPERM,
       clone(kThread | CLONE_NEWUSER)},
      {SYS_clone, "enter a network namespace", EPERM,
       clone(kThread | CLONE_NEWNET)},
      {SYS_clone, "enter a mount namespace", EPERM,
       clone(kThread | CLONE_NEWNS)},
      {SYS_tgkill, "signal another process", EPERM,
       [=] { return ::syscall(SYS_tgkill, parent, parent, SIGKILL); }},
      {SYS_rt_sigaction, "catch SIGKILL", EINVAL,
       [] {
         static char action[64];
         return ::syscall(SYS_rt_sigaction, SIGKILL, action, nullptr, 8);
       }},
      {SYS_prctl, "allow core dumps", EPERM,
       [] { return ::prctl(PR_SET_DUMPABLE, 1); }},
      {SYS_prctl, "regain a capability", EPERM,
       [] { return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 1, 0, 0); }},
  };
}

std::vector<Misuse> Confined::All() const {
  std::vector<Misuse> all;
  for (const std::vector<Misuse>& some :
       {OfFiles(), OfNames(), OfMemory(), OfDescriptors(), OfThreads()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Calls that are allowed, and that only do something to the calling process or
/// to descriptors that it has.
const std::set<int> kHarmless = {
    SYS_read,
    SYS_pread64,
    SYS_readv,
    SYS_preadv,
    SYS_lseek,
    SYS_ppoll,
    SYS_close,
    SYS_fadvise64,
    SYS_fstat,
    SYS_getcwd,
    SYS_brk,
    SYS_munmap,
    SYS_mremap,
    SYS_munlock,
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_gettid,
    SYS_getpid,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_membarrier,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_exit,
    SYS_exit_group,
    SYS_restart_syscall,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrusage,
    SYS_inotify_rm_watch,
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_time
    SYS_time,
#endif
};

TEST_F(Confined, CannotMisuseACallThatIsAllowed) {
  // mlock fails with ENOMEM above a limit, and with EPERM for a limit of 0.
  const rlimit none{0, 0};
  ASSERT_EQ(InChild([&] {
              if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 1;
              for (const Misuse& one : All()) {
                const int got = Try(one.attempt);
                if (got == one.expected) continue;
                std::fprintf(stderr, "call %d: %s: errno %d, expected %d\n",
                             one.call, one.what, got, one.expected);
                return 2;
              }
              return 0;
            }),
            0);
}

TEST_F(Confined, MayWriteTheTemporaryFileAlone) {
  const Fd spilled(::open(dir_.Path("").c_str(), O_TMPFILE | O_RDWR, 0600));
  const Fd other(::open(dir_.Path("").c_str(), O_TMPFILE | O_RDWR, 0600));
  ASSERT_TRUE(spilled.ok() && other.ok());
  ASSERT_EQ(InChild([&] {
              Confine({{in_}, container_, false, spilled.get()});
              if (::pwrite(spilled.get(), "x", 1, 0) != 1) return 1;
              if (::fallocate(spilled.get(), 0, 0, 4096) != 0) return 2;
              struct statfs disk {};
              if (::fstatfs(spilled.get(), &disk) != 0) return 5;
              if (::pwrite(other.get(), "x", 1, 0) != -1) return 3;
              if (::fallocate(other.get(), 0, 0, 4096) != -1) return 4;
              return 0;
            }),
            0);
}

TEST_F(Confined, MayReceiveDescriptorsFromTheFetcherAlone) {
  int channel[2];
  int other[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, channel), 0);
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, other), 0);
  const Fd ends[] = {Fd(channel[0]), Fd(channel[1]), Fd(other[0]),
                     Fd(other[1])};
  for (const int end : {channel[1], other[1]}) {
    ASSERT_EQ(::write(end, "x", 1), 1);
  }
  ASSERT_EQ(InChild([&] {
              Confinement confinement{{in_}, container_};
              confinement.channel = channel[0];
              Confine(confinement);
              msghdr message{};
              errno = 0;
              if (::recvmsg(other[0], &message, 0) != -1) return 1;
              if (errno != EPERM) return 2;
              if (::recvmsg(channel[0], &message, 0) < 0) return 3;
              if (::sendmsg(channel[0], &message, 0) != -1) return 4;
              return 0;
            }),
            0);
}

TEST_F(Confined, MayNotWatchDirectoriesUnlessTheMountDoes) {
  for (const bool watches : {false, true}) {
    const int got = InChild([&] {
      Confine({{in_}, container_, watches});
      errno = 0;
      return ::inotify_add_watch(watch_.get(), in_.c_str(), IN_MODIFY) < 0
                 ? errno
                 : 0;
    });
    EXPECT_EQ(got, watches ? 0 : EPERM);
  }
}

TEST_F(Confined, Item41_7_MayAskForTheStateOfFileSystemsIfTheMountDoes) {
  const Fd disk(::open(in_.c_str(), O_PATH | O_CLOEXEC));
  ASSERT_TRUE(disk.ok());
  for (const bool measures : {false, true}) {
    const int got = InChild([&] {
      // Also where one file may be asked about in any case.
      Confine({.trees = {in_},
               .container = container_,
               .spill_file = 0,
               .measures = measures});
      struct statfs state {};
      errno = 0;
      return ::fstatfs(disk.get(), &state) != 0 ? errno : 0;
    });
    EXPECT_EQ(got, measures ? 0 : EPERM);
  }
}

TEST_F(Confined, EveryCallThatIsAllowedIsProbed) {
  std::set<int> probed = kHarmless;
  for (const Misuse& one : All()) probed.insert(one.call);
  if (::geteuid() != 0) return;  // not all can be
  for (const int call : AllowedSyscalls()) {
    if (call < 0) continue;  // not a call of this architecture
    EXPECT_TRUE(probed.contains(call)) << "call " << call;
  }
}

TEST_F(Confined, EveryOtherCallIsRefused) {
  constexpr int kMaxCalls = 500;
  std::set<int> allowed;
  for (const int call : AllowedSyscalls()) allowed.insert(call);
  allowed.insert(SYS_clone3);  // ENOSYS
#ifdef __x86_64__
  // Linux lets uretprobe and uprobe pass every filter, and ends the process if
  // they do not come from a probe of the kernel.
  allowed.insert({335, 336});
#endif
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(InChild([&] {
              Confine({{in_}, container_});
              for (int call = 0; call < kMaxCalls; ++call) {
                if (allowed.contains(call)) continue;
                errno = 0;
                if (::syscall(call, 0, 0, 0, 0, 0, 0) == -1 && errno == EPERM) {
                  continue;
                }
                (void)!::write(ends[1], &call, sizeof(call));
              }
              return 0;
            }),
            0);
  ::close(ends[1]);
  for (int call = 0; ::read(ends[0], &call, sizeof(call)) == sizeof(call);) {
    ADD_FAILURE() << "call " << call << " is not refused";
  }
  ::close(ends[0]);
}

TEST_F(Confined, ReadsItsContainer) {
  EXPECT_EQ(Try([&] {
              const int fd = ::open(container_.c_str(), O_RDONLY | O_CLOEXEC);
              char bytes[10];
              return ::pread(fd, bytes, 9, 0) == 9 ? 0 : -1;
            }),
            0);
}

// As docker's: whoever can write to it is root.
TEST_F(Confined, ConnectsToNoSocket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = in_ / "socket";
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), at, sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(Try([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }), EPERM);
  // Nor with a socket that is open already.
  const Fd open(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(Try([&] { return ::connect(open.get(), at, sizeof(address)); }),
            EPERM);
}

}  // namespace
}  // namespace ctxfs
