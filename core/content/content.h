// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

/// Bytes generated while parsing: a JSON view, an .npy header.
struct Literal {
  std::shared_ptr<const std::string> text;
};

/// Bytes of a container from `offset` on; `guard` is null if no checksum covers
/// them.
struct Range {
  std::shared_ptr<const Source> source;
  uint64_t offset = 0;
  std::shared_ptr<const ChecksumGuard> guard;
};

struct Decoded {
  std::shared_ptr<const Block> block;
  uint64_t offset = 0;
};

/// Computes windows of a file in any order; a window always has the same bytes.
/// The cache keeps no computed window, but a transform may keep what helps it
/// to compute them. Safe for any number of threads.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual Status Compute(uint64_t offset, MutableBytes out,
                         const ReadContext& context) const = 0;
  /// Verifies the bytes that the transform reads.
  virtual Status Verify(const ReadContext& /*context*/) const { return {}; }
  /// Implements Content::HasUnreadable for these bytes.
  virtual bool HasUnreadable(uint64_t& /*budget*/,
                             const ReadContext& /*context*/) const {
    return false;
  }
};

struct Computed {
  std::shared_ptr<const Transform> transform;
  uint64_t offset = 0;
};

using Extent = std::variant<Literal, Range, Decoded, Computed>;

/// A virtual file: extents in order, with their cumulative ends. Immutable once
/// built. Each extent has one of the four types in Extent.
class Content {
 public:
  Content() = default;
  Content(Extent extent, uint64_t length) { Append(std::move(extent), length); }

  /// Appends `length` bytes of `extent`. A length of 0 appends an empty extent,
  /// so that Verify still checks its guard or its block.
  void Append(Extent extent, uint64_t length);

  void Append(const Content& other);

  uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// The end of the extent at byte `offset`; past the end, the size.
  uint64_t ExtentEnd(uint64_t offset) const {
    return offset < size() ? ends_[ExtentAt(offset)] : size();
  }

  /// Returns the bytes [offset, offset + length), which must lie within the
  /// file. An empty slice keeps the guards and blocks at `offset`, so that
  /// Verify still checks them.
  Content Slice(uint64_t offset, uint64_t length) const;

  /// Sets `window` to the bytes [offset, offset + length), clipped to the file.
  /// After an Error the window is empty.
  Status Read(uint64_t offset, size_t length, const ReadContext& context,
              Window& window) const;

  /// Returns whether reading [offset, offset + length), clipped to the file,
  /// checks that `source` has not changed: the range is not empty, and is
  /// stored in or decoded from that source alone.
  bool ReadsOnly(const Source& source, uint64_t offset, size_t length) const;

  /// Returns the range of a source that is the whole file; nullopt if the file
  /// is anything but one range of stored bytes.
  std::optional<Range> AsStored() const;

  /// Returns the block if the file is a single Decoded extent from the start of
  /// that block; otherwise null.
  std::shared_ptr<const Block> AsBlock() const;

  /// Prefetches: produces the blocks and verifies the guards that a reader will
  /// need soon. Does nothing for computed extents. Stops at the first failure;
  /// the read reports it.
  void Prepare(const ReadContext& context) const;

  /// Tells the cache that a reader has read to the end.
  void MarkConsumed(const ReadContext& context) const;

  /// Whether reading the whole file requires decoding, computing or scanning
  /// more than `bytes` bytes.
  bool WorkExceeds(uint64_t bytes) const;

  /// The peak memory of producing the largest of its blocks.
  uint64_t LargestBlock() const;

  /// Returns whether a part of a computed extent is known to be unreadable,
  /// while its other parts may be sound. To find out, verifies up to `budget`
  /// bytes and subtracts them from it. Once `budget` is exhausted, only earlier
  /// verdicts count.
  bool HasUnreadable(uint64_t& budget, const ReadContext& context) const;

  /// Verifies every extent now instead of at its first read.
  Status Verify(const ReadContext& context) const;

  /// Verifies every extent, and reads all bytes except those that a guard has
  /// read to verify them.
  Status Scan(const ReadContext& context) const;

 private:
  uint64_t StartOf(size_t extent) const {
    return extent == 0 ? 0 : ends_[extent - 1];
  }
  size_t ExtentAt(uint64_t offset) const;

  std::vector<Extent> extents_;
  std::vector<uint64_t> ends_;
};

Content LiteralContent(std::string text);

/// Fills `out` with the bytes at `offset`. Fails with kCorrupt if they extend
/// past the end of the file.
Status ReadInto(const Content& content, uint64_t offset, MutableBytes out,
                const ReadContext& context);

/// All of `content` as one string: for tests and small files.
Result<std::string> ReadAll(const Content& content, const ReadContext& context);

}  // namespace ctxfs
