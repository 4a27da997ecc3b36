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

/// The occurrences of one message, in order: protobuf reads them as if one
/// followed the other.
using WireRanges = std::vector<WireRange>;

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5,
};

/// Bytes of a number; 0 if they vary.
constexpr size_t FixedBytes(WireType type) {
  if (type == WireType::kFixed32) return 4;
  return type == WireType::kFixed64 ? 8 : 0;
}

/// One field of a message (docs/formats/onnx.md, section 1).
struct WireField {
  uint64_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // of a number, as its bits
  WireRange bytes;     // of kBytes
  uint64_t at = 0;     // its first byte in the model

  bool Is(uint64_t wanted, WireType of) const {
    return number == wanted && type == of;
  }
  bool IsBytes(uint64_t wanted) const { return Is(wanted, WireType::kBytes); }
  bool IsVarint(uint64_t wanted) const { return Is(wanted, WireType::kVarint); }
};

/// Reads fields of protobuf messages. Of a kBytes field it reads only the tag
/// and the length, and allocates nothing for the bytes. All errors of the
/// format are kCorrupt and start with the key of docs/formats/onnx.md,
/// section 8. Not safe for several threads.
class WireReader {
 public:
  /// `source` and `context` outlive this object.
  WireReader(const Source& source, const ReadContext& context)
      : source_(source), context_(context), window_(source, context) {}

  const Source& source() const { return source_; }

  /// The field at `at` of a message that ends at `end`; moves `at` behind it.
  /// kInterrupted if the requester has given up.
  Result<WireField> Next(uint64_t& at, uint64_t end);

  /// The varint at `at`, which must end before `end`; moves `at` behind it.
  Result<uint64_t> Varint(uint64_t& at, uint64_t end);

  /// The first `most` bytes of `range`.
  Result<std::string> Text(WireRange range, uint64_t most);

  /// Appends the bytes of `range` to `text`.
  Status Append(WireRange range, std::string& text);

  /// Calls `handle` for every field of the message, in order, until it fails.
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

  /// The key and the value of a StringStringEntryProto.
  Result<std::pair<WireRange, WireRange>> ReadEntry(WireRange message);

 private:
  Result<uint64_t> Fixed(uint64_t& at, uint64_t end, size_t size);

  const Source& source_;
  const ReadContext& context_;
  WindowReader window_;
  uint64_t fields_ = 0;
};

}  // namespace ctxfs::onnx
