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
  /// Verifies the bytes that are computed from.
  virtual Status Verify(const ReadContext& /*context*/) const { return {}; }
  /// Implements Content::HasUnreadable for these bytes.
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

  /// Appends `length` bytes of `extent`. Appends nothing for a length of 0,
  /// unless a guard or block still has to verify that the extent is empty.
  void Append(Extent extent, uint64_t length);

  /// Appends all extents of `other`.
  void Append(const Content& other);

  /// Length of the file in bytes.
  uint64_t size() const { return ends_.empty() ? 0 : ends_.back(); }

  /// The end of the extent that byte `offset` is in; past the end, the size.
  uint64_t ExtentEnd(uint64_t offset) const {
    return offset < size() ? ends_[ExtentAt(offset)] : size();
  }

  /// Returns the bytes [offset, offset + length), which lie within the file.
  /// Keeps the guards and blocks of the range, so reading an empty slice still
  /// verifies.
  Content Slice(uint64_t offset, uint64_t length) const;

  /// Puts the bytes [offset, offset + length), cut at the end of the file, into
  /// `window`. After an Error the window holds none of them.
  Status Read(uint64_t offset, size_t length, const ReadContext& context,
              Window& window) const;

  /// Returns whether reading [offset, offset + length), cut at the end of the
  /// file, checks that `source` has not changed: all of it is stored in or
  /// decoded from that source alone, and it is not empty.
  bool ReadsOnly(const Source& source, uint64_t offset, size_t length) const;

  /// Returns the range of a source that the file consists of; nullopt if it is
  /// anything else than one range of stored bytes.
  std::optional<Range> AsStored() const;

  /// Returns the block that the file consists of, from its first byte to its
  /// last; null if it is anything else.
  std::shared_ptr<const Block> AsBlock() const;

  /// Produces the blocks and verifies the guards that a reader will need soon.
  /// Failures are reported by the read.
  void Prepare(const ReadContext& context) const;

  /// Tells the cache that a reader has read to the end.
  void MarkConsumed(const ReadContext& context) const;

  /// Whether more than `bytes` bytes have to be decoded, computed or scanned
  /// before all of the file can be read.
  bool WorkExceeds(uint64_t bytes) const;

  /// The memory that the largest of its blocks takes to produce.
  uint64_t LargestBlock() const;

  /// Returns whether a part of the file is known to be unreadable while others
  /// may be sound. Verifies up to `budget` bytes to find out, and subtracts
  /// them; beyond that only earlier findings count.
  bool HasUnreadable(uint64_t& budget, const ReadContext& context) const;

  /// Verifies every extent now instead of at its first read.
  Status Verify(const ReadContext& context) const;

  /// Verifies every extent, and also reads what no checksum covers and what is
  /// computed.
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
