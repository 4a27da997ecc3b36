// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/table_cells.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace ctxfs {
namespace {

Buffer BufferOf(const void* bytes, size_t size) {
  Buffer buffer(size);
  if (size > 0) std::memcpy(buffer.data(), bytes, size);
  return buffer;
}

/// A cell of a column of one row, as both texts have it.
struct Texts {
  std::string csv;
  std::string json;
  bool operator==(const Texts&) const = default;
};

Texts TextsOf(const TableColumn& column, const Buffer& values,
              std::vector<std::string> lines = {}, bool valid = true) {
  Cells cells;
  cells.column = &column;
  cells.values = BufferOf(values.data(), values.size());
  if (!valid) cells.valid = BufferOf("\0", 1);
  cells.lines = std::move(lines);
  Texts texts;
  AppendCsvCell(cells, 0, texts.csv);
  AppendJsonCell(cells, 0, texts.json);
  return texts;
}

template <typename T>
Texts Number(DType dtype, T value, bool valid = true) {
  TableColumn column;
  column.dtype = dtype;
  return TextsOf(column, BufferOf(&value, sizeof value), {}, valid);
}

Texts Line(std::string line, CellKind kind = CellKind::kText) {
  TableColumn column;
  column.kind = kind;
  return TextsOf(column, Buffer(), {std::move(line)});
}

Texts Both(const std::string& text) { return {text, text}; }

TEST(TableCells, IntegersHaveAllTheirDigits) {
  EXPECT_EQ(Number<int8_t>(DType::kI8, -128), Both("-128"));
  EXPECT_EQ(Number<uint8_t>(DType::kU8, 255), Both("255"));
  EXPECT_EQ(Number<uint8_t>(DType::kBool, 1), Both("true"));
  EXPECT_EQ(Number<int16_t>(DType::kI16, -300), Both("-300"));
  EXPECT_EQ(Number<int64_t>(DType::kI64, INT64_MIN),
            Both("-9223372036854775808"));
  EXPECT_EQ(Number<uint64_t>(DType::kU64, UINT64_MAX),
            Both("18446744073709551615"));
}

TEST(TableCells, FloatsAreTheShortestThatGiveThemBack) {
  EXPECT_EQ(Number(DType::kF32, 0.1F), Both("0.1"));
  EXPECT_EQ(Number(DType::kF64, 1.0 / 3), Both("0.3333333333333333"));
  EXPECT_EQ(Number(DType::kF64, 2.0), Both("2.0"));
  EXPECT_EQ(Number(DType::kF64, -0.0), Both("-0.0"));
  EXPECT_EQ(Number(DType::kF64, 1e300), Both("1e+300"));
  EXPECT_EQ(Number<uint16_t>(DType::kF16, 0x3C00), Both("1.0"));
  EXPECT_EQ(Number<uint16_t>(DType::kBf16, 0x3FC0), Both("1.5"));
}

TEST(TableCells, ValuesThatAreNotNumbers) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Number(DType::kF32, infinity), (Texts{"inf", "null"}));
  EXPECT_EQ(Number(DType::kF32, -infinity), (Texts{"-inf", "null"}));
  EXPECT_EQ(Number(DType::kF64, std::numeric_limits<double>::quiet_NaN()),
            (Texts{"NaN", "null"}));
  EXPECT_EQ(Number(DType::kF32, 1.0F, /*valid=*/false), (Texts{"", "null"}));
}

TEST(TableCells, Text) {
  EXPECT_EQ(Line(R"("plain")"), (Texts{"plain", R"("plain")"}));
  EXPECT_EQ(Line(R"("")"), (Texts{R"("")", R"("")"}));
  EXPECT_EQ(Line("null"), (Texts{"", "null"}));
  EXPECT_EQ(Line(R"("a,b")").csv, R"("a,b")");
  EXPECT_EQ(Line(R"("say \"so\"")").csv, R"("say ""so""")");
  EXPECT_EQ(Line(R"("two\nlines")").csv, "\"two\nlines\"");
  EXPECT_EQ(Line(R"(" edge")").csv, R"(" edge")");
  EXPECT_EQ(Line(R"("AAE=")", CellKind::kBytes), (Texts{"AAE=", R"("AAE=")"}));
}

TEST(TableCells, UuidsAndLists) {
  TableColumn uuid;
  uuid.kind = CellKind::kUuid;
  Buffer bytes(16);
  for (size_t i = 0; i < 16; ++i) bytes.data()[i] = static_cast<std::byte>(i);
  EXPECT_EQ(TextsOf(uuid, bytes),
            (Texts{"00010203-0405-0607-0809-0a0b0c0d0e0f",
                   "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""}));
  TableColumn list;
  list.dtype = DType::kF32;
  list.per_row = 3;
  list.list = true;
  const float values[] = {1, 0.5F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(TextsOf(list, BufferOf(values, sizeof values)),
            (Texts{"\"[1.0,0.5,null]\"", "[1.0,0.5,null]"}));
}

// Plain texts are not parsed; the others are.
TEST(TableCells, TextOfALineIsWhatItsJsonSays) {
  const auto text = [](const std::string& line) {
    return TextOf(line).value_or("(null)");
  };
  EXPECT_EQ(text(R"("plain, text ~")"), "plain, text ~");
  EXPECT_EQ(text(R"("")"), "");
  EXPECT_EQ(text(R"("a\"b\\c\u00e9\n")"), "a\"b\\c\u00e9\n");
  EXPECT_EQ(text("\"\u00e9\""), "\u00e9");
  EXPECT_EQ(text("null"), "(null)");
  EXPECT_EQ(text("\""), "(null)");
  EXPECT_EQ(text("12"), "(null)");
  EXPECT_EQ(text(R"("a"b")"), "(null)");
}

}  // namespace
}  // namespace ctxfs
