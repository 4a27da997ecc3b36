// SPDX-License-Identifier: Apache-2.0
//
// All answers are written by a function of ours where libfuse alone cannot do
// what the mount needs: it sets bits in the first one, which libfuse does not
// know, and hands the answers to requests that came by io_uring to their queue.
#include "fs/device_io.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/vfs/log.h"

namespace ctxfs {
namespace {

constexpr uint64_t kExtended = uint64_t{1} << 30U;  // FUSE_INIT_EXT
constexpr uint64_t kMaxPages = uint64_t{1} << 22U;  // FUSE_MAX_PAGES
constexpr uint64_t kAllowMmap = uint64_t{1} << 36U;
constexpr uint64_t kOverIoUring = uint64_t{1} << 41U;
constexpr size_t kFlagsEnd = offsetof(fuse_init_out, flags2) + sizeof(uint32_t);

#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP
constexpr bool kKnowsAllowMmap = true;
#else
constexpr bool kKnowsAllowMmap = false;
#endif

/// What the kernel offers in FUSE_INIT.
uint64_t FlagsOf(const fuse_buf& request) {
  constexpr size_t kEnd = sizeof(fuse_in_header) +
                          offsetof(fuse_init_in, flags2) + sizeof(uint32_t);
  if (request.size < kEnd) return 0;
  const auto* bytes = static_cast<const std::byte*>(request.mem);
  fuse_in_header header;
  std::memcpy(&header, bytes, sizeof(header));
  fuse_init_in init{};
  std::memcpy(&init, bytes + sizeof(header), kEnd - sizeof(header));
  const bool extended =
      header.opcode == FUSE_INIT && (init.flags & kExtended) != 0;
  return extended ? init.flags | uint64_t{init.flags2} << 32U : 0;
}

/// The bytes of the largest answer to a request, after that to FUSE_INIT.
size_t LargestAnswer(const fuse_init_out& init) {
  constexpr size_t kLeast = 8192;  // FUSE_MIN_READ_BUFFER
  constexpr size_t kUsualPages = 32;
  const size_t pages =
      (init.flags & kMaxPages) != 0 ? init.max_pages : kUsualPages;
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return std::max({kLeast, size_t{init.max_write}, pages * page});
}

/// Sets what libfuse did not in the answer to FUSE_INIT.
void Extend(Server& server, const iovec* parts, int count) {
  if (count != 2 || parts[0].iov_len != sizeof(fuse_out_header) ||
      parts[1].iov_len < kFlagsEnd) {
    return server.DropRings();
  }
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if (header.error != 0) return server.DropRings();
  fuse_init_out answer{};
  std::memcpy(&answer, parts[1].iov_base, kFlagsEnd);
  uint64_t more = kExtended;
  if (!kKnowsAllowMmap && server.maps_direct_io()) more |= kAllowMmap;
  if (server.ReserveRings(LargestAnswer(answer))) more |= kOverIoUring;
  answer.flags |= static_cast<uint32_t>(more);
  answer.flags2 |= static_cast<uint32_t>(more >> 32U);
  std::memcpy(parts[1].iov_base, &answer, kFlagsEnd);
}

/// What passes through is the session's; `userdata` is its server.
ssize_t ReadRequest(int fd, void* buffer, size_t size, void* /*userdata*/) {
  return ::read(fd, buffer, size);
}

ssize_t WriteAnswer(int fd, iovec* parts, int count, void* userdata) {
  Server& server = *static_cast<Server*>(userdata);
  // The first answer is that to FUSE_INIT: there are no threads yet.
  if (server.TakeFirstAnswer()) {
    Extend(server, parts, count);
  } else if (server.rings() != nullptr &&
             server.rings()->Answer({parts, static_cast<size_t>(count)})) {
    return 0;
  }
  return ::writev(fd, parts, count);
}

/// Has libfuse read and write by these functions. Returns whether it does.
bool TakeOver(fuse_session* session) {
  fuse_custom_io io{};
  io.read = &ReadRequest;
  io.writev = &WriteAnswer;
  const int device = ::fuse_session_fd(session);
#ifdef FUSE_CAP_PASSTHROUGH
  // From 3.17 on, a session with such functions needs one for this, too.
  io.clone_fd = [](int of) {
    const int clone = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    auto number = static_cast<uint32_t>(of);
    if (clone < 0 || ::ioctl(clone, FUSE_DEV_IOC_CLONE, &number) == 0) {
      return clone;
    }
    ::close(clone);
    return -1;
  };
  return ::fuse_session_custom_io_317(session, &io, sizeof(io), device) == 0;
#else
  return ::fuse_session_custom_io(session, &io, device) == 0;
#endif
}

/// Takes up what the kernel offers, before libfuse answers.
Status Accept(fuse_session* session, Server& server, uint64_t offered) {
  if (!kKnowsAllowMmap && (offered & kAllowMmap) != 0) {
    server.set_maps_direct_io();
  }
  const Status made = server.MakeRings((offered & kOverIoUring) != 0,
                                       ::fuse_session_fd(session));
  if (made) return {};
  return Error{made.error().code, "io_uring=on: " + made.error().Text()};
}

}  // namespace

Status AnswerInit(fuse_session* session, Server& server) {
  const bool rings = server.options().io_uring != IoUring::kOff;
  const bool needed = !kKnowsAllowMmap || rings;
  const bool taken = needed && TakeOver(session);
  if (needed && !taken) {
    Log(LogLevel::kWarning,
        "libfuse does not let its answers be changed: it is built without "
        "fuse_session_custom_io, as from 3.18.3 on");
  }
  fuse_buf buffer{};
  const int got = ::fuse_session_receive_buf(session, &buffer);
  Status accepted = Error{Code::kIo, "the kernel ended the mount at once"};
  if (got > 0) {
    accepted = Status();
    if (taken) accepted = Accept(session, server, FlagsOf(buffer));
    ::fuse_session_process_buf(session, &buffer);
  }
  std::free(buffer.mem);
  if (accepted && server.options().io_uring == IoUring::kOn &&
      server.rings() == nullptr) {
    return Error{Code::kUnsupported,
                 taken ? "io_uring=on: no memory for its queues"
                       : "io_uring=on: libfuse does not let its answers be "
                         "changed"};
  }
  return accepted;
}

}  // namespace ctxfs
