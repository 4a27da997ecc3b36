// SPDX-License-Identifier: Apache-2.0
#include "core/content/read_through.h"

#include <algorithm>

#include "core/io/transfer.h"

namespace ctxfs {

Status CompareBytes(const Content& content, const Source& file,
                    const ReadContext& context) {
  const Error differs{Code::kStale, "the bytes of the file have changed"};
  if (content.size() != file.size()) return differs;
  uint64_t at = 0;
  Buffer other(limits::kMiB);
  return ReadThrough(content, context, [&](Bytes piece) -> Status {
    while (!piece.empty()) {
      const size_t length =
          PreadSome(file.descriptor(), at,
                    other.span().first(std::min(piece.size(), other.size())))
              .bytes;
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
