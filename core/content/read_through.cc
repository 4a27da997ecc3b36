// SPDX-License-Identifier: Apache-2.0
#include "core/content/read_through.h"

#include <algorithm>

namespace ctxfs {

Status CompareBytes(const Content& content, const Source& source,
                    const ReadContext& context) {
  const Error differs{Code::kStale, "the bytes of the file have changed"};
  if (content.size() != source.size()) return differs;
  uint64_t at = 0;
  Buffer other(limits::kMiB);
  return ReadThrough(content, context, [&](Bytes piece) -> Status {
    while (!piece.empty()) {
      const MutableBytes room =
          other.span().first(std::min(piece.size(), other.size()));
      CTXFS_TRY(source.ReadAt(at, room));
      if (!std::ranges::equal(piece.first(room.size()), room)) return differs;
      at += room.size();
      piece = piece.subspan(room.size());
    }
    return {};
  });
}

}  // namespace ctxfs
