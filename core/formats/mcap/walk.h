// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/formats/mcap/chunks.h"

namespace ctxfs::mcap {

/// The part of a file to walk over.
struct WalkRange {
  enum class Take : uint8_t {
    kData,         // all records, up to the end of the data section
    kDefinitions,  // schemas and channels
    /// The data section, and schemas and channels behind it. A record that does
    /// not fit ends the walk without an error.
    kSalvaged,
  };
  uint64_t begin;
  uint64_t end;
  Take take;
};

struct Walked {
  /// Why the walk ended early, with kSalvaged.
  std::optional<Error> stopped = std::nullopt;
  /// Whether a chunk could not be decoded, so that not all messages are known.
  bool lacks_chunks = false;
};

/// Walks from record to record and adds what it finds to `builder`; decodes
/// each chunk once, one at a time (docs/formats/mcap.md, section 6). A chunk
/// that cannot be decoded is a warning.
Result<Walked> Walk(const Chunks& chunks, const WalkRange& range,
                    IndexBuilder& builder, const ReadContext& context);

}  // namespace ctxfs::mcap
