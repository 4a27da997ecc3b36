// SPDX-License-Identifier: Apache-2.0
#include "fs/sandbox/seccomp.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <vector>

#include "core/base/sanitized.h"
#include "core/io/io_error.h"

namespace ctxfs {
namespace {

// Calls of glibc, libfuse and ctxfs while serving files, allowed with all
// arguments. Landlock decides which files may be opened, and how.
// tests/unit/fs/sandbox/confinement_test.cc tries to misuse each of them.
constexpr int kAllowed[] = {
    // the FUSE device, containers
    SCMP_SYS(read), SCMP_SYS(pread64), SCMP_SYS(readv), SCMP_SYS(preadv),
    SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(lseek), SCMP_SYS(poll),
    SCMP_SYS(ppoll), SCMP_SYS(open), SCMP_SYS(openat), SCMP_SYS(openat2),
    SCMP_SYS(close), SCMP_SYS(fadvise64),
    // names and attributes
    SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(fstat), SCMP_SYS(newfstatat),
    SCMP_SYS(statx), SCMP_SYS(readlink), SCMP_SYS(readlinkat),
    SCMP_SYS(getdents64), SCMP_SYS(getcwd),
    // memory
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(mlock), SCMP_SYS(mlock2), SCMP_SYS(munlock),
    // threads, and their signals
    SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
    SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity), SCMP_SYS(membarrier), SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
    SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(restart_syscall),
    // time, random numbers, and the process itself
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
    SCMP_SYS(getrandom), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
    SCMP_SYS(getegid), SCMP_SYS(uname), SCMP_SYS(sysinfo)};

// Calls for a mount with -o timeout= that watches its directories.
constexpr int kWatching[] = {SCMP_SYS(inotify_add_watch),
                             SCMP_SYS(inotify_rm_watch)};

// Calls for statfs in a mount of a directory.
constexpr int kMeasuring[] = {SCMP_SYS(fstatfs)};

// Calls for the temporary file, the only one that is open for writing.
constexpr int kSpilling[] = {SCMP_SYS(pwrite64), SCMP_SYS(fallocate),
                             SCMP_SYS(fstatfs)};

// Calls of a process that fetches URLs: those of libcurl, the resolver and the
// cache. A filter cannot see the address of a connection, so every address is
// allowed.
constexpr int kFetching[] = {
    // sockets; the resolver binds a netlink socket
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),
    SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg),
    SCMP_SYS(sendmmsg), SCMP_SYS(setsockopt), SCMP_SYS(getsockopt),
    SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(shutdown),
    SCMP_SYS(pipe2), SCMP_SYS(eventfd2), SCMP_SYS(select), SCMP_SYS(pselect6),
    // files of the cache
    SCMP_SYS(mkdirat), SCMP_SYS(unlinkat), SCMP_SYS(renameat),
    SCMP_SYS(utimensat), SCMP_SYS(flock)};

// Calls with which code that a hostile container has taken over could leave the
// process.
constexpr int kLeaving[] = {
    // io_uring makes sockets without a call of socket().
    SCMP_SYS(socket),
    SCMP_SYS(socketpair),
    SCMP_SYS(connect),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(bpf),
    SCMP_SYS(userfaultfd)};

/// A call that is allowed if all conditions on its arguments hold. A call
/// listed twice is allowed if either entry matches.
struct Conditional {
  int call;
  std::vector<scmp_arg_cmp> arguments;
};

scmp_arg_cmp Is(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

scmp_arg_cmp Masked(unsigned argument, uint64_t mask, uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

constexpr uint64_t kNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET |
                                 CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
                                 CLONE_NEWCGROUP;

std::vector<Conditional> Conditionals(int spill_file, int channel = -1) {
  const auto self = static_cast<uint64_t>(::getpid());
  std::vector<Conditional> all = {
      // Memory may be mapped, but not as executable.
      {SCMP_SYS(mmap), {Masked(2, PROT_EXEC, 0)}},
      {SCMP_SYS(mprotect), {Masked(2, PROT_EXEC, 0)}},
      // New threads of this process are allowed, but no processes and no
      // namespaces.
      {SCMP_SYS(clone),
       {Masked(0, CLONE_THREAD | CLONE_VM | kNamespaces,
               CLONE_THREAD | CLONE_VM)}},
      {SCMP_SYS(tgkill), {Is(0, self)}},
      // F_SETOWN and F_SETSIG are not allowed, because they can send any signal
      // to any process.
      {SCMP_SYS(fcntl), {Is(1, F_GETFD)}},
      {SCMP_SYS(fcntl), {Is(1, F_SETFD)}},
      {SCMP_SYS(fcntl), {Is(1, F_GETFL)}},
      {SCMP_SYS(fcntl), {Is(1, F_DUPFD_CLOEXEC)}},
      // libfuse clones the device descriptor for each worker.
      {SCMP_SYS(ioctl), {Is(1, FUSE_DEV_IOC_CLONE)}},
      {SCMP_SYS(prctl), {Is(0, PR_SET_NAME)}},
      // ThreadUsage::Now measures the calling thread
      // (fs/fuse/brief_interrupt.cc).
      {SCMP_SYS(getrusage), {Is(0, RUSAGE_THREAD)}},
      {SCMP_SYS(prctl), {Is(0, PR_GET_NO_NEW_PRIVS)}},
  };
  if (channel >= 0) {
    all.push_back({SCMP_SYS(recvmsg), {Is(0, static_cast<uint64_t>(channel))}});
  }
  if (spill_file < 0) return all;
  for (const int call : kSpilling) {
    all.push_back({call, {Is(0, static_cast<uint64_t>(spill_file))}});
  }
  return all;
}

struct Release {
  void operator()(void* filter) const { ::seccomp_release(filter); }
};

/// The calls allowed with all arguments.
std::vector<int> Unconditionals(bool watches) {
  std::vector<int> calls(std::begin(kAllowed), std::end(kAllowed));
  if (watches) {
    calls.insert(calls.end(), std::begin(kWatching), std::end(kWatching));
  }
  return calls;
}

}  // namespace

std::vector<int> AllowedSyscalls() {
  std::vector<int> calls = Unconditionals(/*watches=*/true);
  for (const Conditional& one : Conditionals(/*spill_file=*/0, /*channel=*/0)) {
    calls.push_back(one.call);
  }
  return calls;
}

namespace {

using FilterPtr = std::unique_ptr<void, Release>;

/// Allows `calls` with any arguments, and `conditionals` if their conditions
/// hold.
int AllowCalls(void* filter, const std::vector<int>& calls,
               const std::vector<Conditional>& conditionals) {
  int done = 0;
  for (const int call : calls) {
    if (done == 0) done = ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
  }
  for (const Conditional& one : conditionals) {
    if (done == 0) {
      done = ::seccomp_rule_add_array(
          filter, SCMP_ACT_ALLOW, one.call,
          static_cast<unsigned>(one.arguments.size()), one.arguments.data());
    }
  }
  return done;
}

/// Makes a filter with the action `otherwise` for calls without a rule; null if
/// memory runs out.
FilterPtr NewFilter(uint32_t otherwise) {
  FilterPtr filter(::seccomp_init(otherwise));
  if (filter != nullptr &&
      ::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH,
                         SCMP_ACT_KILL_PROCESS) != 0) {
    return nullptr;
  }
  return filter;
}

/// Enforces `filter`; `done` is the result of adding its rules.
Result<bool> Load(const FilterPtr& filter, int done) {
  if (done != 0) {
    return SystemError("cannot build the system call filter", -done);
  }
  const int loaded = ::seccomp_load(filter.get());
  if (loaded == -EINVAL || loaded == -ENOSYS || loaded == -ECANCELED) {
    return false;  // not supported by the kernel
  }
  if (loaded != 0) {
    return SystemError("cannot load the system call filter", -loaded);
  }
  return true;
}

Error NoMemoryForFilter() {
  return {Code::kNoMemory, "out of memory for the system call filter"};
}

/// Allows only `calls` and `conditionals` from now on.
Result<bool> LoadFilter(const std::vector<int>& calls,
                        const std::vector<Conditional>& conditionals) {
  if (CTXFS_SANITIZED) return false;
  // EPERM instead of a signal, because a new call of a C library must not kill
  // the daemon.
  const FilterPtr filter = NewFilter(SCMP_ACT_ERRNO(EPERM));
  if (filter == nullptr) return NoMemoryForFilter();
  int done = AllowCalls(filter.get(), calls, conditionals);
  // A filter cannot see clone3's flags, which are in memory. ENOSYS makes the C
  // library fall back to clone, whose flags are in a register.
  if (done == 0) {
    done = ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS),
                              SCMP_SYS(clone3), 0);
  }
  return Load(filter, done);
}

}  // namespace

Result<bool> FilterSyscalls(bool watches, int spill_file, int channel,
                            bool measures) {
  std::vector<int> calls = Unconditionals(watches);
  std::vector<Conditional> conditionals = Conditionals(spill_file, channel);
  if (measures) {
    calls.insert(calls.end(), std::begin(kMeasuring), std::end(kMeasuring));
    std::erase_if(conditionals, [](const Conditional& one) {
      return one.call == kMeasuring[0];
    });
  }
  return LoadFilter(calls, conditionals);
}

Result<bool> FilterFetcherSyscalls() {
  std::vector<int> calls = Unconditionals(/*watches=*/false);
  calls.insert(calls.end(), std::begin(kFetching), std::end(kFetching));
  std::vector<Conditional> conditionals = Conditionals(/*spill_file=*/-1);
  conditionals.push_back({SCMP_SYS(ioctl), {Is(1, FIONBIO)}});
  conditionals.push_back({SCMP_SYS(fcntl), {Is(1, F_SETFL)}});
  return LoadFilter(calls, conditionals);
}

Result<bool> FilterLeavingSyscalls() {
  if (CTXFS_SANITIZED) return false;
  const FilterPtr filter = NewFilter(SCMP_ACT_ALLOW);
  if (filter == nullptr) return NoMemoryForFilter();
  int done = 0;
  for (const int call : kLeaving) {
    if (done != 0) break;
    done = ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0);
  }
  return Load(filter, done);
}

}  // namespace ctxfs
