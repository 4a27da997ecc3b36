// SPDX-License-Identifier: Apache-2.0
//
// libfuse before 3.17 cannot set FUSE_DIRECT_IO_ALLOW_MMAP, a bit of the answer
// to FUSE_INIT. With such a libfuse, this file writes all answers: it sets the
// bit in the first and passes on the others unchanged.
#include "fs/kernel/mapped_direct_io.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "core/vfs/log.h"

namespace ctxfs {

#ifdef FUSE_CAP_DIRECT_IO_ALLOW_MMAP

void WatchInit(fuse_session* /*session*/) {}
void NoteInit(Server& /*server*/, const fuse_buf& /*request*/) {}

#else

namespace {

constexpr uint32_t kExtended = 1U << 30;  // FUSE_INIT_EXT
constexpr uint32_t kAllowMmap = 1U << 4;  // of flags2: bit 36
constexpr size_t kFlagsEnd = offsetof(fuse_init_out, flags2) + sizeof(uint32_t);

/// I/O functions of the session; `userdata` is its server.
ssize_t ReadRequest(int fd, void* buffer, size_t size, void* /*userdata*/) {
  return ::read(fd, buffer, size);
}

void AllowMmap(const iovec* parts, int count) {
  if (count != 2 || parts[0].iov_len != sizeof(fuse_out_header) ||
      parts[1].iov_len < kFlagsEnd) {
    return;
  }
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof(header));
  if (header.error != 0) return;
  fuse_init_out answer{};
  std::memcpy(&answer, parts[1].iov_base, kFlagsEnd);
  answer.flags |= kExtended;
  answer.flags2 |= kAllowMmap;
  std::memcpy(parts[1].iov_base, &answer, kFlagsEnd);
}

ssize_t WriteAnswer(int fd, iovec* parts, int count, void* userdata) {
  // FUSE_INIT's answer is the first; no other threads run yet.
  Server& server = *static_cast<Server*>(userdata);
  if (server.TakeFirstAnswer() && server.maps_direct_io()) {
    AllowMmap(parts, count);
  }
  return ::writev(fd, parts, count);
}

}  // namespace

void WatchInit(fuse_session* session) {
  fuse_custom_io io{};
  io.read = &ReadRequest;
  io.writev = &WriteAnswer;
  if (fuse_session_custom_io(session, &io, fuse_session_fd(session)) != 0) {
    Log(LogLevel::kWarning, "files cannot be mapped while read directly");
  }
}

void NoteInit(Server& server, const fuse_buf& request) {
  constexpr size_t kFlags2End = sizeof(fuse_in_header) +
                                offsetof(fuse_init_in, flags2) +
                                sizeof(uint32_t);
  if (request.size < kFlags2End) return;
  const auto* bytes = static_cast<const std::byte*>(request.mem);
  fuse_in_header header;
  std::memcpy(&header, bytes, sizeof(header));
  fuse_init_in init{};
  std::memcpy(&init, bytes + sizeof(header), kFlags2End - sizeof(header));
  const bool offered = header.opcode == FUSE_INIT &&
                       (init.flags & kExtended) != 0 &&
                       (init.flags2 & kAllowMmap) != 0;
  if (offered) server.set_maps_direct_io();
}

#endif

}  // namespace ctxfs
