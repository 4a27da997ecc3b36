// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/mcap/chunks.h"
#include "core/formats/mcap/index.h"

namespace ctxfs::mcap {

/// The part of a file to walk over.
struct WalkRange {
  uint64_t begin;  // behind the header
  uint64_t end;
  /// Whether a record that does not fit ends the walk without an error, and
  /// schemas and channels behind the data section count, too.
  bool salvage;
};

struct Walked {
  /// Why the walk ended early, with salvage.
  std::optional<Error> stopped;
  /// Whether a chunk could not be decoded, so that not all messages are known.
  bool lacks_chunks = false;
};

/// Walks from record to record and adds what it finds to `builder`; decodes
/// each chunk once, one at a time (docs/formats/mcap.md, section 6). A chunk
/// that cannot be decoded is a warning.
Result<Walked> Walk(const Chunks& chunks, const WalkRange& range,
                    IndexBuilder& builder, const ReadContext& context);

}  // namespace ctxfs::mcap
