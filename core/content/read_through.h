// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/limits.h"
#include "core/content/content.h"

namespace ctxfs {

/// Passes all bytes of `content` to `sink` (Status(Bytes)) in order and piece
/// by piece, until a call fails. Bytes with a checksum are verified first.
template <typename Sink>
Status ReadThrough(const Content& content, const ReadContext& context,
                   const Sink& sink) {
  // An empty file may be damaged.
  if (content.size() == 0) return content.Verify(context);
  // Ahead::bytes is 0 here, because each extent sets that number for its own
  // source.
  const ReadContext all = context.With(Ahead{0, Ahead::Likelihood::kCertain});
  Window window;
  for (uint64_t at = 0; at < content.size(); at += limits::kMiB) {
    CTXFS_TRY(content.Read(at, limits::kMiB, all, window));
    for (const Bytes slice : window.slices()) {
      CTXFS_TRY(sink(slice));
    }
  }
  return {};
}

/// Verifies `content`, and fails with kStale unless its bytes equal those of
/// `file` now. Reads the descriptor of `file`, because `file` itself may be
/// stale.
Status CompareBytes(const Content& content, const Source& file,
                    const ReadContext& context);

}  // namespace ctxfs
