// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs {

/// Decoded bytes with random access, divided into parts of equal size.
/// Each part is a block of a cache, and is decoded when it is read.
class DecodedParts {
 protected:
  struct Layout {
    SourcePtr stored;
    uint64_t owner;   // of the parts in the cache; a part's key is its number
    uint64_t size;    // decoded bytes in total
    uint64_t part;    // bytes of a part; the last part may be shorter
    uint64_t memory;  // bytes that a decoder takes
  };

  explicit DecodedParts(Layout layout) : layout_(std::move(layout)) {}
  ~DecodedParts() = default;

  const Layout& layout() const { return layout_; }
  uint64_t PartSize(uint64_t part) const {
    return std::min(layout_.part, layout_.size - part * layout_.part);
  }
  /// Fills `out` with the bytes at `offset`, which must lie within the decoded
  /// bytes. Fails with kStale if the source has changed.
  Status ReadParts(uint64_t offset, MutableBytes out,
                   const ReadContext& context) const;

  /// Decodes a part, and compares it with its recorded hash or checksum.
  virtual Result<Buffer> DecodePart(uint64_t part,
                                    const ReadContext& context) const = 0;
  /// Returns the error for a part that does not match its recorded hash or
  /// checksum.
  static Error Changed(uint64_t at = kNoOffset) {
    return {Code::kStale, "the file changed after it was verified", at};
  }

 private:
  class Part;
  const Layout layout_;
};

}  // namespace ctxfs
