// SPDX-License-Identifier: Apache-2.0
//
// .npy files (docs/formats/npy.md). In order: 93 "NUMPY"; u8 major, u8 minor;
// the length of the header, u16 in version 1, u32 in 2 and 3; the header, a
// Python dict as text; the data.
#include "core/formats/npy/header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text/text.h"
#include "core/content/strided.h"
#include "core/formats/npy/limits.h"

namespace ctxfs::npy {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

Error BadHeader(std::string what, uint64_t at) {
  return {Code::kCorrupt, "header: " + std::move(what), at};
}

/// Parses a dict literal with descr, fortran_order and shape, each once.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, uint64_t offset)
      : text_(text), offset_(offset) {}

  struct Header {
    std::string_view descr;
    bool plain = false;  // descr is a string
    std::optional<bool> fortran_order;
    std::optional<std::vector<uint64_t>> shape;
    bool has_descr = false;
    bool negative = false;  // a dimension is negative
  };

  Result<Header> Parse() {
    Header header;
    if (!Take('{')) return Fail("no dict");
    while (!Take('}')) {
      CTXFS_TRY(Item(header));
      if (Take(',')) continue;
      if (!Take('}')) return Fail("no comma after a value");
      break;
    }
    Space();
    if (at_ != text_.size()) return Fail("text after the dict");
    if (!header.has_descr || !header.fortran_order || !header.shape) {
      return Fail("a key is missing");
    }
    return header;
  }

 private:
  Error Fail(const char* what) const { return BadHeader(what, offset_ + at_); }

  void Space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n\f").find(text_[at_]) !=
               std::string_view::npos) {
      ++at_;
    }
  }
  bool Take(char c) {
    Space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    Space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  std::optional<std::string_view> String() {
    Space();
    if (at_ >= text_.size()) return std::nullopt;
    const char quote = text_[at_];
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view string = text_.substr(at_ + 1, end - at_ - 1);
    if (string.find('\\') != std::string_view::npos) return std::nullopt;
    at_ = end + 1;
    return string;
  }

  Status Item(Header& header) {
    const std::optional<std::string_view> key = String();
    if (!key || !Take(':')) return Fail("no key");
    if (*key == "descr" && !header.has_descr) return Descr(header);
    if (*key == "fortran_order" && !header.fortran_order) {
      if (TakeWord("True")) {
        header.fortran_order = true;
      } else if (TakeWord("False")) {
        header.fortran_order = false;
      } else {
        return Fail("fortran_order is no bool");
      }
      return {};
    }
    if (*key == "shape" && !header.shape) return Shape(header);
    return Fail("an unexpected key");
  }

  Status Descr(Header& header) {
    header.has_descr = true;
    if (const std::optional<std::string_view> string = String()) {
      header.descr = *string;
      header.plain = true;
      return {};
    }
    return SkipNested();
  }

  /// Skips a list or tuple of a structured type.
  Status SkipNested() {
    unsigned depth = 0;
    do {
      Space();
      if (at_ >= text_.size()) return Fail("no end of descr");
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        if (!String()) return Fail("no end of a string");
        continue;
      }
      ++at_;
      if (c == '[' || c == '(') {
        if (++depth > kMaxDepth) return Fail("nested too deep");
      } else if (c == ']' || c == ')') {
        if (depth-- == 0) return Fail("no value of descr");
      } else if (depth == 0 || (c != ',' && c != 'L' && (c < '0' || c > '9'))) {
        return Fail("descr is no literal");
      }
    } while (depth > 0);
    return {};
  }

  Status Shape(Header& header) {
    std::vector<uint64_t> shape;
    if (!Take('(')) return Fail("shape is no tuple");
    bool comma = true;
    while (!Take(')')) {
      if (!comma) return Fail("no comma in shape");
      const bool negative = Take('-');
      std::optional<uint64_t> extent = Number();
      if (!extent) return Fail("shape is no tuple of integers");
      header.negative |= negative && *extent != 0;
      // Stores one dimension more than allowed, for which ReadArray refuses the
      // shape.
      if (shape.size() <= limits::kRank) shape.push_back(*extent);
      comma = Take(',');
    }
    // In Python, "(3)" is a number and "(3,)" a tuple.
    if (shape.size() == 1 && !comma) return Fail("shape is no tuple");
    header.shape = std::move(shape);
    return {};
  }

  std::optional<uint64_t> Number() {
    Space();
    const size_t start = at_;
    std::optional<uint64_t> value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      value = CheckedMul(*value, 10);
      if (value)
        value = CheckedAdd(*value, static_cast<uint64_t>(text_[at_] - '0'));
      if (!value) return std::nullopt;
      ++at_;
    }
    if (at_ == start) return std::nullopt;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return value;
  }

  const std::string_view text_;
  const uint64_t offset_;
  size_t at_ = 0;
};

std::optional<DType> TypeOf(std::string_view descr) {
  constexpr std::array<std::pair<std::string_view, DType>, 14> kTypes = {
      {{"b1", DType::kBool},
       {"i1", DType::kI8},
       {"i2", DType::kI16},
       {"i4", DType::kI32},
       {"i8", DType::kI64},
       {"u1", DType::kU8},
       {"u2", DType::kU16},
       {"u4", DType::kU32},
       {"u8", DType::kU64},
       {"f2", DType::kF16},
       {"f4", DType::kF32},
       {"f8", DType::kF64},
       {"c8", DType::kC64},
       {"c16", DType::kC128}}};
  for (const auto& [name, dtype] : kTypes) {
    if (descr == name) return dtype;
  }
  return std::nullopt;
}

Status ReadType(const HeaderParser::Header& header, Array& array) {
  const std::string_view descr = header.descr;
  const auto refuse = [](std::string what) {
    return Error{Code::kUnsupported, std::move(what)};
  };
  if (!header.plain) return refuse("dtype: a structured type");
  if (descr.empty() ||
      std::string_view("<>=|").find(descr[0]) == std::string_view::npos) {
    return refuse("dtype: no byte order");
  }
  if (descr.substr(1) == "O") {
    return refuse("object: the data is a pickle, which is not opened");
  }
  const std::optional<DType> dtype = TypeOf(descr.substr(1));
  if (!dtype)
    return refuse("dtype: " + Quote(descr) + " is no type of numbers");
  array.dtype = *dtype;
  array.big_endian = descr[0] == '>';
  return {};
}

}  // namespace

bool HasMagic(Bytes head) { return AsText(head).starts_with(kMagic); }

Result<uint64_t> HeaderBytes(Bytes start) {
  ByteReader in(start);
  const std::string_view magic = AsText(in.Take(kMagic.size()));
  const uint8_t major = in.U8();
  in.Skip(1);
  if (!in.ok() || magic != kMagic) {
    return BadHeader("it does not start with \\x93NUMPY", 0);
  }
  if (major < 1 || major > 3) {
    return Error{Code::kVersion,
                 fmt::format("version: {} is not 1, 2 or 3", major), 6};
  }
  const uint64_t length = major == 1 ? in.U16() : in.U32();
  if (!in.ok()) return BadHeader("the file ends before it", 8);
  if (length > kMaxHeader) {
    return BadHeader(std::to_string(length) + " bytes are over the limit", 8);
  }
  return in.offset() + length;
}

Result<Array> ReadArray(Bytes start) {
  const uint64_t bytes = CTXFS_TRY(HeaderBytes(start));
  if (bytes > start.size()) return BadHeader("the file ends within it", 8);
  const uint64_t before = start[6] == std::byte{1} ? 10 : 12;
  HeaderParser parser(
      AsText(start.subspan(static_cast<size_t>(before),
                           static_cast<size_t>(bytes - before))),
      before);
  HeaderParser::Header header = CTXFS_TRY(parser.Parse());
  Array array;
  CTXFS_TRY(ReadType(header, array));
  array.fortran_order = *header.fortran_order;
  array.shape = std::move(*header.shape);
  array.data_offset = bytes;
  if (header.negative || array.shape.size() > limits::kRank) {
    return Error{Code::kCorrupt, "shape: negative, or over 32 dimensions",
                 before};
  }
  return array;
}

std::optional<uint64_t> ElementBytes(const Array& array) {
  std::optional<uint64_t> bytes = DTypeSize(array.dtype);
  const bool empty = std::find(array.shape.begin(), array.shape.end(), 0U) !=
                     array.shape.end();
  for (const uint64_t extent : array.shape) {
    if (bytes) bytes = CheckedMul(*bytes, empty ? 0 : extent);
  }
  return bytes;
}

Error WrongSize(const Array& array, uint64_t size) {
  const std::optional<uint64_t> needed = ElementBytes(array);
  return {Code::kCorrupt,
          fmt::format("size: the data has {} bytes, and the shape requires {}",
                      size - array.data_offset,
                      needed ? std::to_string(*needed) : "more than 2^64"),
          array.data_offset};
}

Result<Array> ReadWholeArray(Bytes start, uint64_t size) {
  Array array = CTXFS_TRY(ReadArray(start));
  if (ElementBytes(array) != std::optional(size - array.data_offset)) {
    return WrongSize(array, size);
  }
  return array;
}

Content Elements(Key key, const Array& array, const Content& file) {
  StridedLayout layout;
  const auto width = static_cast<uint32_t>(DTypeSize(array.dtype));
  layout.width = width;
  layout.shape = array.shape;
  layout.strides = array.fortran_order ? ColumnMajorStrides(array.shape)
                                       : RowMajorStrides(array.shape);
  if (array.big_endian)
    layout.swap = IsComplex(array.dtype) ? width / 2 : width;
  const Content data =
      file.Slice(array.data_offset, file.size() - array.data_offset);
  return StridedContent(key, data, std::move(layout));
}

}  // namespace ctxfs::npy
