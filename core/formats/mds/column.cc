// SPDX-License-Identifier: Apache-2.0
//
// Encodings of values (docs/formats/mds.md, section 4).
#include "core/formats/mds/column.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/container/elements.h"
#include "core/formats/mds/limits.h"

namespace ctxfs::mds {
namespace {

struct NamedDType {
  std::string_view name;
  uint8_t code;  // in the header of an array
  DType dtype;
};
constexpr NamedDType kDTypes[] = {
    {"uint8", 8, DType::kU8},     {"int8", 9, DType::kI8},
    {"uint16", 16, DType::kU16},  {"int16", 17, DType::kI16},
    {"float16", 18, DType::kF16}, {"uint32", 32, DType::kU32},
    {"int32", 33, DType::kI32},   {"float32", 34, DType::kF32},
    {"uint64", 64, DType::kU64},  {"int64", 65, DType::kI64},
    {"float64", 66, DType::kF64}};

std::optional<DType> DTypeNamed(std::string_view name) {
  const auto* const found = std::ranges::find(kDTypes, name, &NamedDType::name);
  if (found == std::end(kDTypes)) return std::nullopt;
  return found->dtype;
}

struct Encoding {
  std::string_view name;
  ColumnKind kind;
  JsonKind json;
  std::string_view suffix;
  uint64_t list_start = 0;
};
constexpr auto kValue = ColumnKind::kValue;
constexpr auto kList = ColumnKind::kList;
constexpr uint64_t kListMark = 4;  // bytes of the u32 0 that starts a list
constexpr Encoding kEncodings[] = {
    {"str", kValue, JsonKind::kText, ".txt"},
    {"str_int", kValue, JsonKind::kDigits, ".txt"},
    {"str_float", kValue, JsonKind::kDigits, ".txt"},
    {"str_decimal", kValue, JsonKind::kText, ".txt"},
    {"bytes", kValue, JsonKind::kBytes, ".bin"},
    {"json", kValue, JsonKind::kJson, ".json"},
    {"pkl", kValue, JsonKind::kFile, ".pkl"},
    {"png", kValue, JsonKind::kFile, ".png"},
    {"jpeg", kValue, JsonKind::kFile, ".jpg"},
    {"pil", kValue, JsonKind::kFile, ".pil"},
    {"list[png]", kList, JsonKind::kFile, ".png", kListMark},
    {"list[jpeg]", kList, JsonKind::kFile, ".jpg", kListMark},
    {"list[pil]", kList, JsonKind::kFile, ".pil", kListMark},
    {"jpegarray", kList, JsonKind::kFile, ".jpg"},
    {"jpeg_array", kList, JsonKind::kFile, ".jpg"}};

Error Bad(const Column& column, const std::string& why) {
  return {Code::kCorrupt,
          fmt::format("columns: column {} of encoding {}: {}",
                      Quote(column.name), Quote(column.encoding), why)};
}

/// Makes a column of kind kJoined. Fails if its dtype and shape contradict
/// column.size.
Status SetJoined(Column& column, DType dtype, std::vector<uint64_t> shape) {
  column.kind = ColumnKind::kJoined;
  column.json = JsonKind::kNumbers;
  column.suffix.clear();
  column.dtype = dtype;
  const auto bytes = CheckedMul(ElementsOf(shape), DTypeSize(dtype));
  column.shape = std::move(shape);
  if (bytes == column.size) return {};
  return Bad(column, fmt::format("the size of a value is not {}", column.size));
}

/// Parses "D0,D1,...".
std::optional<std::vector<uint64_t>> ParseShape(std::string_view text) {
  std::vector<uint64_t> shape;
  while (shape.size() < kMaxRank) {
    const size_t end = std::min(text.find(','), text.size());
    const auto dim = WholeNumber<uint64_t>(text.substr(0, end));
    if (!dim || *dim == 0) return std::nullopt;
    shape.push_back(*dim);
    if (end == text.size()) return shape;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

/// Parses `config`, the text after "ndarray" in "ndarray:DTYPE:SHAPE".
Status SetArray(Column& column, std::string_view config) {
  column.kind = ColumnKind::kArray;
  column.suffix.clear();
  if (!config.empty()) {
    const size_t end = std::min(config.find(':', 1), config.size());
    column.dtype = DTypeNamed(config.substr(1, end - 1));
    if (config[0] != ':' || !column.dtype) {
      return Bad(column, "the dtype is unknown");
    }
    if (end < config.size()) {
      auto shape = ParseShape(config.substr(end + 1));
      if (!shape) return Bad(column, "the shape is none");
      return SetJoined(column, *column.dtype, *std::move(shape));
    }
  }
  if (column.size == 0) return {};
  return Bad(column, "the sizes of its values vary");
}

Status SetEncoding(Column& column, const Encoding& encoding) {
  column.kind = encoding.kind;
  column.json = encoding.json;
  column.suffix = encoding.suffix;
  column.list_start = encoding.list_start;
  column.named_by_value = encoding.json == JsonKind::kBytes;
  if (column.size == 0) return {};
  return Bad(column, "the sizes of its values vary");
}

uint64_t TakeDimension(ByteReader& in, unsigned log2_bytes) {
  const Bytes bytes = in.Take(uint64_t{1} << log2_bytes);
  uint64_t dimension = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    dimension = dimension << 8 | std::to_integer<uint64_t>(bytes[i]);
  }
  return dimension;
}

Error NotAnArray(const std::string& why) {
  return {Code::kCorrupt, "the value is no array: " + why};
}

}  // namespace

Result<Column> MakeColumn(std::string name, std::string encoding,
                          std::optional<uint64_t> size) {
  constexpr std::string_view kArrayName = "ndarray";
  Column column{.name = std::move(name),
                .encoding = std::move(encoding),
                .size = size.value_or(0)};
  const std::string_view text = column.encoding;
  const auto* const known =
      std::ranges::find(kEncodings, text, &Encoding::name);
  Status set;
  if (text == "int") {
    set = SetJoined(column, DType::kI64, {});
  } else if (const std::optional<DType> dtype = DTypeNamed(text)) {
    set = SetJoined(column, *dtype, {});
  } else if (text == kArrayName || text.starts_with("ndarray:")) {
    set = SetArray(column, text.substr(kArrayName.size()));
  } else if (known != std::end(kEncodings)) {
    set = SetEncoding(column, *known);
  } else {
    column.unknown = true;
    column.suffix = ".bin";
  }
  if (!set) return std::move(set).error();
  return column;
}

// A stored array is: u8 dtype, unless the column states it; u8 rank << 2 | log2
// of the bytes of a dimension; the dimensions; the elements.
Result<StoredArray> ParseArray(const Column& column, Bytes head,
                               uint64_t size) {
  ByteReader in(head);
  StoredArray array;
  if (column.dtype) {
    array.dtype = *column.dtype;
  } else {
    const auto* const found =
        std::ranges::find(kDTypes, in.U8(), &NamedDType::code);
    if (found == std::end(kDTypes)) return NotAnArray("its dtype is unknown");
    array.dtype = found->dtype;
  }
  const unsigned shape = in.U8();
  for (unsigned i = 0; i < shape >> 2; ++i) {
    array.shape.push_back(TakeDimension(in, shape & 3));
  }
  if (!in.ok()) return NotAnArray("its header is cut off");
  array.offset = in.offset();
  const auto bytes =
      CheckedMul(ElementsOf(array.shape), DTypeSize(array.dtype));
  if (bytes == size - array.offset) return array;
  return NotAnArray(
      fmt::format("{} bytes are not those of its shape", size - array.offset));
}

Result<uint64_t> ListHead(const Column& column, Bytes start, uint64_t size) {
  ByteReader in(start);
  const uint32_t mark = column.list_start > 0 ? in.U32() : 0;
  const uint64_t items = in.U32();
  if (!in.ok() || mark != 0 || items > (size - in.offset()) / 4) {
    return Error{Code::kCorrupt, "the value is no list"};
  }
  if (items > kMaxItems) {
    return OverLimit(fmt::format("a list of {} items is", items), kMaxItems);
  }
  return in.offset() + 4 * items;
}

// A stored list is: a u32 0 in some encodings, the u32 number of items, as many
// u32 sizes, the items.
Result<std::vector<uint64_t>> ParseList(const Column& column, Bytes head,
                                        uint64_t size) {
  uint64_t at = CTXFS_TRY(ListHead(column, head, size));
  const uint64_t sizes = column.list_start + 4;
  ByteReader in(head);
  in.Skip(sizes);
  std::vector<uint64_t> ends = {at};
  ends.reserve((at - sizes) / 4 + 1);
  while (in.ok() && in.offset() < ends.front()) {
    ends.push_back(at += in.U32());
  }
  if (in.ok() && at == size) return ends;
  return Error{Code::kCorrupt, "the items of the list do not fill the value"};
}

}  // namespace ctxfs::mds
