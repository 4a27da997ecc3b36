// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/limits.h"
#include "core/content/content.h"

namespace ctxfs {

/// Passes all bytes of `content`, verified, to `sink` (Status(Bytes)) in order
/// and piece by piece, until a call fails.
template <typename Sink>
Status ReadThrough(const Content& content, const ReadContext& context,
                   const Sink& sink) {
  // An empty file may be damaged.
  if (content.size() == 0) return content.Verify(context);
  // 0 bytes: each extent sets how much of its source is read.
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

/// Fails with kStale unless `content`, verified, has the same bytes as `file`,
/// a file of the system whose source may have changed.
Status CompareBytes(const Content& content, const Source& file,
                    const ReadContext& context);

}  // namespace ctxfs
