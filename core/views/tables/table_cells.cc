// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/table_cells.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/json/json_writer.h"
#include "core/base/text/text.h"
#include "core/codec/numbers/widen.h"

namespace ctxfs {
namespace {

template <typename T>
void AppendDigits(T value, std::string& text) {
  std::array<char, 40> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  text.append(digits.data(), end);
}

/// Appends a float, with a point or an exponent, so that readers see a float:
/// 1 as "1.0", 100000 as "1e+05". In JSON, NaN and infinities are null.
template <typename T>
void AppendCellFloat(T value, bool json, std::string& text) {
  if (std::isfinite(value)) return AppendFloat(value, text);
  text += json                ? "null"
          : std::isnan(value) ? "NaN"
          : value > 0         ? "inf"
                              : "-inf";
}

void AppendNumber(DType dtype, const std::byte* at, bool json,
                  std::string& text) {
  const auto number = [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      AppendCellFloat(LoadLe<T>(at), json, text);
    } else {
      AppendDigits(LoadLe<T>(at), text);
    }
  };
  VisitNumber(dtype, number, [&] {
    if (dtype == DType::kBool) {
      text += *at == std::byte{0} ? "false" : "true";
    } else if (dtype == DType::kF16 || dtype == DType::kBf16) {
      std::array<float, 1> wide;
      WidenToFloat(dtype, {at, DTypeSize(dtype)}, wide);
      AppendCellFloat(wide[0], json, text);
    } else {
      text += "null";  // tables have no columns of other types
    }
  });
}

void AppendUuid(const std::byte* at, std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = std::to_integer<unsigned>(at[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

/// Appends a list as JSON. In CSV, the JSON is one field, in quotes if it has
/// a comma.
void AppendList(const TableColumn& column, const std::byte* at,
                std::string& text) {
  text += '[';
  for (uint64_t i = 0; i < column.per_row; ++i) {
    if (i != 0) text += ',';
    AppendNumber(column.dtype, at + i * DTypeSize(column.dtype), true, text);
  }
  text += ']';
}

}  // namespace

std::optional<std::string> TextOf(const std::string& line) {
  if (line.size() >= 2 && line.front() == '"' && line.back() == '"') {
    const std::string_view text =
        std::string_view(line).substr(1, line.size() - 2);
    if (IsPlainText(text)) return std::string(text);
  }
  const Json value = Json::parse(line, nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

void AppendJsonCell(const Cells& cells, uint64_t row, std::string& text) {
  const TableColumn& column = *cells.column;
  if (column.lines()) {
    text += cells.lines[row];
  } else if (!cells.IsValid(row)) {
    text += "null";
  } else if (column.kind == CellKind::kUuid) {
    text += '"';
    AppendUuid(cells.at(row), text);
    text += '"';
  } else if (column.list) {
    AppendList(column, cells.at(row), text);
  } else {
    AppendNumber(column.dtype, cells.at(row), true, text);
  }
}

void AppendCsvField(std::string_view field, std::string& text) {
  // Some readers strip spaces around an unquoted field.
  const bool bare = !field.empty() &&
                    field.find_first_of(",\"\r\n") == std::string_view::npos &&
                    field.front() != ' ' && field.back() != ' ';
  if (bare) {
    text += field;
    return;
  }
  text += '"';
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

void AppendCsvCell(const Cells& cells, uint64_t row, std::string& text) {
  const TableColumn& column = *cells.column;
  if (column.lines()) {
    if (const auto value = TextOf(cells.lines[row])) {
      AppendCsvField(*value, text);
    }
  } else if (!cells.IsValid(row)) {
    return;
  } else if (column.kind == CellKind::kUuid) {
    AppendUuid(cells.at(row), text);
  } else if (column.list) {
    std::string list;
    AppendList(column, cells.at(row), list);
    AppendCsvField(list, text);
  } else {
    AppendNumber(column.dtype, cells.at(row), false, text);
  }
}

}  // namespace ctxfs
