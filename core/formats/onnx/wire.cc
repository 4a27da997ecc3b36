// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/wire.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/heap/heap_allowance.h"

namespace ctxfs::onnx {
namespace {

constexpr uint64_t kHighestField = (uint64_t{1} << 29) - 1;
// Fields between two interrupt checks.
constexpr uint64_t kFieldsPerCheck = 4096;

Error CutOff(uint64_t at, uint64_t end) {
  return {Code::kCorrupt,
          fmt::format("length: a field runs past the end of its message at {}",
                      end),
          at};
}

}  // namespace

Result<uint64_t> WireReader::Varint(uint64_t& at, uint64_t end) {
  const size_t room = WindowReader::Room(at, end, kLongestVarint);
  const Bytes bytes = CTXFS_TRY(window_.At(at, room));
  uint64_t value = 0;
  for (size_t i = 0; i < room; ++i) {
    const auto byte = std::to_integer<uint64_t>(bytes[i]);
    // Nine bytes hold 63 bits, so the tenth may hold only one.
    if (i + 1 == kLongestVarint && byte > 1) {
      return Error{Code::kCorrupt, "varint: a number has more than 64 bits",
                   at};
    }
    value |= (byte & 0x7FU) << (7 * i);
    if ((byte & 0x80U) == 0) {
      at += i + 1;
      return value;
    }
  }
  return CutOff(at, end);
}

Result<uint64_t> WireReader::Fixed(uint64_t& at, uint64_t end, size_t size) {
  if (!InBounds(at, size, end)) return CutOff(at, end);
  const Bytes bytes = CTXFS_TRY(window_.At(at, size));
  at += size;
  return size == sizeof(uint32_t) ? LoadLe<uint32_t>(bytes.data())
                                  : LoadLe<uint64_t>(bytes.data());
}

Result<WireField> WireReader::Next(uint64_t& at, uint64_t end) {
  if (fields_++ % kFieldsPerCheck == 0) {
    CTXFS_TRY(context_.Check());
  }
  WireField field;
  field.at = at;
  const uint64_t tag = CTXFS_TRY(Varint(at, end));
  field.number = tag >> 3;
  field.type = static_cast<WireType>(tag & 7U);
  if (field.number == 0 || field.number > kHighestField) {
    return Error{Code::kCorrupt,
                 fmt::format("wire: there is no field {}", field.number),
                 field.at};
  }
  Result<uint64_t> value = 0;
  switch (field.type) {
    case WireType::kVarint:
    case WireType::kBytes:
      value = Varint(at, end);
      break;
    case WireType::kFixed64:
    case WireType::kFixed32:
      value = Fixed(at, end, FixedBytes(field.type));
      break;
    default:
      return Error{Code::kCorrupt,
                   fmt::format("wire_type: field {} has wire type {}",
                               field.number, tag & 7U),
                   field.at};
  }
  if (!value) return std::move(value).error();
  field.value = *value;
  if (field.type != WireType::kBytes) return field;
  if (!InBounds(at, field.value, end)) {
    return Error{Code::kCorrupt,
                 fmt::format("length: the {} bytes of field {} run past the "
                             "end of its message at {}",
                             field.value, field.number, end),
                 field.at};
  }
  field.bytes = {at, at + field.value};
  at = field.bytes.end;
  return field;
}

Result<std::pair<WireRange, WireRange>> WireReader::ReadEntry(
    WireRange message) {
  std::pair<WireRange, WireRange> entry;
  Status read = ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsBytes(1)) entry.first = field.bytes;
    if (field.IsBytes(2)) entry.second = field.bytes;
    return {};
  });
  if (!read) return std::move(read).error();
  return entry;
}

Status WireReader::Append(WireRange range, std::string& text) {
  for (uint64_t at = range.begin; at < range.end;) {
    const size_t room = WindowReader::Room(at, range.end);
    const Bytes bytes = CTXFS_TRY(window_.At(at, room));
    CTXFS_TRY(AppendAdmitted(text, AsText(bytes)));
    at += room;
  }
  return {};
}

Result<std::string> WireReader::Text(WireRange range, uint64_t most) {
  std::string text;
  CTXFS_TRY(
      Append({range.begin, range.begin + std::min(range.size(), most)}, text));
  return text;
}

}  // namespace ctxfs::onnx
