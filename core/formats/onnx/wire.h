// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"
#include "core/io/window_reader.h"

namespace ctxfs::onnx {

constexpr size_t kLongestVarint = 10;  // bytes

/// Bytes [begin, end) of the model.
struct WireRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
};

/// Ranges in order of position. If they are the occurrences of one message,
/// protobuf reads them as one, concatenated.
using WireRanges = std::vector<WireRange>;

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5,
};

/// Returns the size of a number, bytes; 0 if it varies.
constexpr size_t FixedBytes(WireType type) {
  if (type == WireType::kFixed32) return 4;
  return type == WireType::kFixed64 ? 8 : 0;
}

/// One field of a message (docs/formats/onnx.md, section 1).
struct WireField {
  uint64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // bits of a number; for kBytes, the length
  WireRange bytes;     // of kBytes
  uint64_t at = 0;     // of the field; byte of the model

  bool Is(uint64_t wanted, WireType of) const {
    return number == wanted && type == of;
  }
  bool IsBytes(uint64_t wanted) const { return Is(wanted, WireType::kBytes); }
  bool IsVarint(uint64_t wanted) const { return Is(wanted, WireType::kVarint); }
};

/// Reads fields of protobuf messages. For a kBytes field, reads only tag and
/// length, and allocates nothing. Format errors are kCorrupt and start with a
/// key of docs/formats/onnx.md, section 8. Not thread-safe.
class WireReader {
 public:
  /// `source` and `context` must outlive this object.
  WireReader(const Source& source, const ReadContext& context)
      : source_(source), context_(context), window_(source, context) {}

  const Source& source() const { return source_; }

  /// Returns the field at `at` of a message that ends at `end`; moves `at` past
  /// it. Fails with kInterrupted if the requester has given up.
  Result<WireField> Next(uint64_t& at, uint64_t end);

  /// Returns the varint at `at`, before `end`; moves `at` past it.
  Result<uint64_t> Varint(uint64_t& at, uint64_t end);

  /// Returns at most the first `most` bytes of `range`.
  Result<std::string> Text(WireRange range, uint64_t most);

  Status Append(WireRange range, std::string& text);

  /// Calls `handle` for every field of the message, in order, until `handle`
  /// fails.
  template <typename Handle>
  Status ForEach(WireRange message, const Handle& handle) {
    for (uint64_t at = message.begin; at < message.end;) {
      const WireField field = CTXFS_TRY(Next(at, message.end));
      CTXFS_TRY(handle(field));
    }
    return {};
  }
  template <typename Handle>
  Status ForEach(const WireRanges& message, const Handle& handle) {
    for (const WireRange& part : message) {
      CTXFS_TRY(ForEach(part, handle));
    }
    return {};
  }

  /// Returns key and value of a StringStringEntryProto.
  Result<std::pair<WireRange, WireRange>> ReadEntry(WireRange message);

 private:
  Result<uint64_t> Fixed(uint64_t& at, uint64_t end, size_t size);

  const Source& source_;
  const ReadContext& context_;
  WindowReader window_;
  uint64_t fields_ = 0;
};

}  // namespace ctxfs::onnx
