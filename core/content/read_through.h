// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/limits.h"
#include "core/content/content.h"

namespace ctxfs {

/// Passes all bytes of `content`, verified, to `sink` in order and piece by
/// piece, until a call (Status(Bytes)) fails.
template <typename Sink>
Status ReadThrough(const Content& content, const ReadContext& context,
                   const Sink& sink) {
  // An empty file may be a damaged one.
  if (content.size() == 0) return content.Verify(context);
  Window window;
  for (uint64_t at = 0; at < content.size(); at += limits::kMiB) {
    Status read = content.Read(at, limits::kMiB, context, window);
    if (!read) return read;
    for (const Bytes slice : window.slices()) {
      if (Status taken = sink(slice); !taken) return taken;
    }
  }
  return {};
}

}  // namespace ctxfs
