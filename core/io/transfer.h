// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.h"

namespace ctxfs {

struct Transferred {
  size_t bytes = 0;
  bool failed = false;  // errno says why
};

/// Repeats a system call until it has transferred all of `bytes`, returns 0, or
/// fails with an error other than EINTR. `call(left, done)` transfers `left`,
/// the bytes after the first `done` bytes.
template <typename Span, typename Call>
Transferred Transfer(Span bytes, const Call& call) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = call(bytes.subspan(done), done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {done, true};
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  return {done};
}

/// Reads from `offset` until `out` is full or the file ends.
inline Transferred PreadSome(int fd, uint64_t offset, MutableBytes out) {
  return Transfer(out, [fd, offset](MutableBytes left, size_t done) {
    return ::pread(fd, left.data(), left.size(),
                   static_cast<off_t>(offset + done));
  });
}

/// Fills `out` from `offset`. Returns false on an error or at the end of the
/// file.
inline bool PreadAll(int fd, uint64_t offset, MutableBytes out) {
  return PreadSome(fd, offset, out).bytes == out.size();
}

/// Writes `bytes` at the descriptor's file offset.
inline Transferred WriteSome(int fd, Bytes bytes) {
  return Transfer(bytes, [fd](Bytes left, size_t /*done*/) {
    return ::write(fd, left.data(), left.size());
  });
}

}  // namespace ctxfs
