// SPDX-License-Identifier: Apache-2.0
//
// Raw Snappy: a varint with the decoded size, then literals and copies of
// earlier output. Each element begins with a tag, whose low two bits are its
// kind.
#include <algorithm>
#include <optional>
#include <string>

#include "core/codec/codec.h"
#include "core/codec/copy_match.h"

namespace ctxfs {
namespace {

constexpr uint64_t kElementsPerCheck = 1 << 16;

Error Snappy(const char* why, const ByteReader& in) {
  return {Code::kCorrupt, std::string("snappy: ") + why, in.offset()};
}

struct Element {
  uint64_t length;
  std::optional<uint64_t> distance;  // back from the end; nullopt: a literal
};

uint64_t TakeLe(ByteReader& in, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{in.U8()} << (8 * i);
  return value;
}

/// Reads a tag and the bytes that belong to it.
Element TakeElement(ByteReader& in) {
  const unsigned tag = in.U8();
  const uint64_t high = tag >> 2;
  switch (tag & 3) {
    case 0:
      // 60 to 63: the length minus 1 follows, in 1 to 4 bytes.
      if (high < 60) return {high + 1, std::nullopt};
      return {TakeLe(in, static_cast<unsigned>(high - 59)) + 1, std::nullopt};
    case 1:
      return {4 + (high & 7), (high >> 3) << 8 | in.U8()};
    case 2:
      return {high + 1, TakeLe(in, 2)};
    default:
      return {high + 1, TakeLe(in, 4)};
  }
}

}  // namespace

Status DecodeSnappy(Bytes stored, MutableBytes out,
                    const Interrupt& interrupt) {
  ByteReader in(stored);
  const uint64_t size = in.Uvarint();
  if (!in.ok() || size != out.size()) {
    return Snappy("not a stream of the expected size", in);
  }
  uint64_t made = 0;
  for (uint64_t step = 0; in.remaining() > 0; ++step) {
    if (step % kElementsPerCheck == 0) CTXFS_TRY(interrupt.Check());
    const Element element = TakeElement(in);
    if (!in.ok() || element.length > out.size() - made) {
      return Snappy("an element is past the end", in);
    }
    std::byte* const to = out.data() + made;
    if (!element.distance) {
      const Bytes bytes = in.Take(element.length);
      if (!in.ok()) return Snappy("a literal is past the end", in);
      std::ranges::copy(bytes, to);
    } else if (*element.distance == 0 || *element.distance > made) {
      return Snappy("a copy from before the start", in);
    } else {
      CopyMatch(to, *element.distance, element.length);
    }
    made += element.length;
  }
  return made == out.size() ? Status() : Snappy("the stream is cut off", in);
}

}  // namespace ctxfs
