// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/checksum_guard.h"
#include "core/content/content.h"
#include "core/formats/tfrecord/example_wire.h"

namespace ctxfs::tfrecord {

/// Bytes [begin, end) of the file.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// The data of a record in memory, and its place in the file.
struct RecordBytes {
  Bytes bytes;
  uint64_t at = 0;

  Span SpanOf(Bytes part) const {
    const auto begin = at + static_cast<uint64_t>(part.data() - bytes.data());
    return {begin, begin + part.size()};
  }
};

/// A place between two numbers of a list.
struct NumberMark {
  size_t list = 0;
  uint64_t at = 0;          // byte of the file
  uint64_t packed_end = 0;  // of a packed field around it; 0: none
};

/// Numbers as a record stores them: FloatList or Int64List messages.
struct Numbers {
  /// Numbers between two marks.
  static constexpr uint64_t kPerMark = 4096;

  ValueKind kind = ValueKind::kInts;
  uint64_t count = 0;
  std::vector<Span> lists = {};
  /// Where each kPerMark numbers begin. A read in the middle of 10^8 varints
  /// does not start at the first.
  std::vector<NumberMark> marks = {};
  /// Where all numbers are, if they are the floats of one packed field.
  std::optional<Span> packed = std::nullopt;

  size_t width() const { return kind == ValueKind::kInts ? 8 : 4; }

  /// Adds the numbers of a feature of the same kind.
  Status Add(const Feature& feature, const RecordBytes& record);
  Status FindMarks(const RecordBytes& record, const ReadContext& context);
};

/// Reads the numbers of lists, one after the other. `numbers` must outlive it.
class NumberReader {
 public:
  /// `window`: the bytes that are in memory.
  NumberReader(const Numbers& numbers, const RecordBytes& window,
               NumberMark start)
      : numbers_(numbers), window_(window), mark_(start) {}
  NumberReader(const Numbers& numbers, const RecordBytes& window);

  /// Reads the bits of the next number. Returns false at the end, and if the
  /// bytes are not what was parsed.
  bool Next(uint64_t& bits);
  const NumberMark& mark() const { return mark_; }
  /// After the first number: Numbers::packed.
  std::optional<Span> PackedBefore() const;

 private:
  Bytes Left(uint64_t end) const;
  bool NextPacked(uint64_t& bits);
  bool EnterField(uint64_t& bits, bool& found);

  const Numbers& numbers_;
  const RecordBytes window_;
  NumberMark mark_;
};

/// The guarded bytes that numbers are in.
struct NumberSource {
  std::shared_ptr<const Source> source;
  std::shared_ptr<const ChecksumGuard> guard;  // null: no checksum
};

/// The file of `numbers`: i64 or f32, little-endian. A packed list of floats is
/// a range of the container; other lists are decoded in blocks. `owner` and
/// `file` name these.
Content NumberContent(std::shared_ptr<const Numbers> numbers,
                      const NumberSource& source, uint64_t owner,
                      uint32_t file);

}  // namespace ctxfs::tfrecord
