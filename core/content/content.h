// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/checksum_guard.h"
#include "core/content/read_context.h"
#include "core/content/window.h"
#include "core/io/source.h"

namespace ctxfs {

/// Bytes made while parsing: a JSON view, an .npy header.
struct Literal {
  std::shared_ptr<const std::string> text;
};

/// Bytes of a container from `offset` on; `guard` is null where no checksum
/// covers them.
struct Range {
  std::shared_ptr<const Source> source;
  uint64_t offset = 0;
  std::shared_ptr<const ChecksumGuard> guard;
};

/// Bytes of a block from `offset` on.
struct Decoded {
  std::shared_ptr<const Block> block;
  uint64_t offset = 0;
};

/// A pure function from a window to its bytes: any window, any order, no
/// state, never cached.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Status Compute(uint64_t offset, MutableBytes out,
                         const ReadContext& context) const = 0;
  /// Makes sure of what the bytes are computed from.
  virtual Status Verify(const ReadContext& /*context*/) const { return {}; }
  /// Content::HasUnreadable of these bytes.
  virtual bool HasUnreadable(uint64_t& /*budget*/,
                             const ReadContext& /*context*/) const {
    return false;
  }
};

/// Bytes of a transform from `offset` on.
struct Computed {
  std::shared_ptr<const Transform> transform;
  uint64_t offset = 0;
};

using Extent = std::variant<Literal, Range, Decoded, Computed>;

/// A virtual file: extents in order, with their running ends. Immutable once
/// built. There is no fifth kind of extent.
class Content {
 public:
  Content() = default;
  /// `length` bytes of one extent.
  Content(Extent extent, uint64_t length) { Append(std::move(extent), length); }

  /// Appends `length` bytes of `extent`; nothing for a length of 0 unless a
  /// guard or block must still be asked whether those no bytes are right.
  void Append(Extent extent, uint64_t length);

  /// Appends all extents of `other`.
  void Append(const Content& other);

  /// Length of the file in bytes.
  uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// The bytes [offset, offset + length), which lie within the file. Whatever
  /// stood before them still does: guards and blocks are asked even for no
  /// bytes.
  Content Slice(uint64_t offset, uint64_t length) const;

  /// Puts the bytes [offset, offset + length) into `window`, all of them, cut
  /// at the end of the file only. Nothing is there after an Error.
  Status Read(uint64_t offset, size_t length, const ReadContext& context,
              Window& window) const;

  /// Whether [offset, offset + length), cut at the end of the file, comes from
  /// `source` alone and as stored or decoded, so that to read it is to find
  /// out whether `source` has changed. Not so if it is no bytes.
  bool ReadsOnly(const Source& source, uint64_t offset, size_t length) const;

  /// Produces the blocks and passes the guards that a reader is about to want.
  /// What fails is told when it is read.
  void Prepare(const ReadContext& context) const;

  /// Tells the cache that a reader has got to the end.
  void Spend(const ReadContext& context) const;

  /// Whether more than `bytes` bytes have to be decoded, computed or scanned
  /// before all of the file can be read.
  bool WorkExceeds(uint64_t bytes) const;

  /// The memory that the largest of its blocks takes to produce.
  uint64_t LargestBlock() const;

  /// Whether some of what is computed is known to be unreadable, while other
  /// bytes may be sound. Verifies up to `budget` bytes to find out, and takes
  /// them off it; beyond that only what was found before counts.
  bool HasUnreadable(uint64_t& budget, const ReadContext& context) const;

  /// Makes sure of every extent now instead of at its first read.
  Status Verify(const ReadContext& context) const;

  /// The same, and reads whatever that did not: bytes that no checksum covers,
  /// and those that are computed.
  Status Scan(const ReadContext& context) const;

 private:
  uint64_t StartOf(size_t extent) const {
    return extent == 0 ? 0 : ends_[extent - 1];
  }
  /// The extent that byte `offset` is in.
  size_t ExtentAt(uint64_t offset) const;

  std::vector<Extent> extents_;
  std::vector<uint64_t> ends_;
};

/// A file that holds `text`.
Content LiteralContent(std::string text);

/// Fills `out` with the bytes at `offset`, all of which are in the file.
Status ReadInto(const Content& content, uint64_t offset, MutableBytes out,
                const ReadContext& context);

/// All of `content` as one string: for tests and small files.
Result<std::string> ReadAll(const Content& content, const ReadContext& context);

}  // namespace ctxfs
