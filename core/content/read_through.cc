// SPDX-License-Identifier: Apache-2.0
#include "core/content/read_through.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace ctxfs {
namespace {

/// Reads up to out.size() bytes of a file, fewer only at its end.
size_t ReadSome(int file, uint64_t offset, MutableBytes out) {
  ssize_t n = 0;
  do {
    n = ::pread(file, out.data(), out.size(), static_cast<off_t>(offset));
  } while (n < 0 && errno == EINTR);
  return n < 0 ? 0 : static_cast<size_t>(n);
}

}  // namespace

Status CompareBytes(const Content& content, const Source& file,
                    const ReadContext& context) {
  const Error differs{Code::kStale, "the bytes of the file have changed"};
  if (content.size() != file.size()) return differs;
  uint64_t at = 0;
  Buffer other(limits::kMiB);
  return ReadThrough(content, context, [&](Bytes piece) -> Status {
    while (!piece.empty()) {
      const size_t length =
          ReadSome(file.descriptor(), at,
                   other.span().first(std::min(piece.size(), other.size())));
      if (length == 0 || !std::ranges::equal(piece.first(length),
                                             other.span().first(length))) {
        return differs;
      }
      at += length;
      piece = piece.subspan(length);
    }
    return {};
  });
}

}  // namespace ctxfs
