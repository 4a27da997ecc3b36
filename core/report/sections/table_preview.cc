// SPDX-License-Identifier: Apache-2.0
#include "core/report/sections/table_preview.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/limits.h"
#include "core/report/script_json.h"
#include "core/views/tables/table_cells.h"
#include "core/views/tables/table_reader.h"

namespace ctxfs {
namespace {

constexpr uint64_t kRows = 20;
constexpr size_t kCellBytes = 80;
constexpr size_t kNumberCellBytes = 34;
constexpr uint64_t kPreviewedBytes = 64 * limits::kKiB;
constexpr uint64_t kNumberBytes = limits::kMiB;

std::string TypeOf(const TableColumn& column) {
  switch (column.kind) {
    case CellKind::kUuid:
      return "uuid";
    case CellKind::kText:
      return "text";
    case CellKind::kBytes:
      return "bytes";
    case CellKind::kNumber:
      break;
  }
  std::string type(DTypeName(column.dtype));
  if (column.per_row != 1 || column.list) {
    type += fmt::format("[{}]", column.per_row);
  }
  return type;
}

/// Formats a number or list of numbers as JSON. Floats are rounded to 4
/// significant digits; a long list is cut between numbers.
std::string NumbersText(std::string_view json) {
  std::string shown;
  while (!json.empty()) {
    const size_t end = std::min(json.find_first_of("[], "), json.size());
    std::string number(json.substr(0, end));
    double value = 0;
    const char* const last = number.data() + number.size();
    if (number.find_first_of(".e") != std::string::npos &&
        std::from_chars(number.data(), last, value).ptr == last) {
      number = fmt::format("{}", Rounded(value, 4).get<double>());
    }
    if (shown.size() + number.size() > kNumberCellBytes)
      return shown + "\u2026";
    shown += number;
    if (end < json.size())
      shown += json[end] == ',' ? ", " : json.substr(end, 1);
    json.remove_prefix(std::min(end + 1, json.size()));
  }
  return shown;
}

/// The first lines of a text column, from its first 64 KiB. Uses no
/// TableReader, because that would read lines of any length.
Result<Json> TextCells(const TableColumn& column, uint64_t rows,
                       const ReadContext& context) {
  const Content content = CTXFS_TRY(column.open(context));
  Buffer bytes(static_cast<size_t>(std::min(kPreviewedBytes, content.size())));
  CTXFS_TRY(ReadInto(content, 0, bytes.span(), context));
  Json cells = Json::array();
  std::string_view rest = AsText(bytes.span());
  while (cells.size() < std::min(rows, kRows)) {
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) break;
    const std::optional<std::string> text =
        TextOf(std::string(rest.substr(0, end)));
    cells.push_back(text ? Json(CutText(*text, kCellBytes)) : Json());
    rest.remove_prefix(end + 1);
  }
  return cells;
}

Result<Json> NumberCells(const std::shared_ptr<const Container>& container,
                         const TableColumn& column, uint64_t rows,
                         const ReadContext& context) {
  Json cells = Json::array();
  const uint64_t row = std::max<uint64_t>(column.row_size(), 1);
  const uint64_t count = std::min({rows, kRows, kNumberBytes / row});
  if (count == 0) return cells;
  const auto reader =
      CTXFS_TRY(TableReader::Open(container, Table{rows, {column}}, context));
  uint64_t line = 0;
  const Cells read = CTXFS_TRY(reader->Read(0, 0, count, line, context));
  for (uint64_t i = 0; i < count; ++i) {
    if (!read.IsValid(i)) {
      cells.push_back(nullptr);
      continue;
    }
    std::string text;
    // A list is written as JSON, because a CSV field would put it in quotes.
    column.list ? AppendJsonCell(read, i, text) : AppendCsvCell(read, i, text);
    cells.push_back(column.kind == CellKind::kNumber
                        ? NumbersText(text)
                        : CutText(text, kCellBytes));
  }
  return cells;
}

}  // namespace

Result<Json> TablePreview(const std::shared_ptr<const Container>& container,
                          const Table& table, size_t most_columns,
                          const ReadContext& context) {
  Json columns = Json::array();
  for (const TableColumn& column : table.columns) {
    if (columns.size() == most_columns) break;
    CTXFS_TRY(context.Check());
    Json shown = {{"name", CutText(column.name, kArrayNameBytes)},
                  {"type", TypeOf(column)}};
    Result<Json> cells =
        column.lines() ? TextCells(column, table.rows, context)
                       : NumberCells(container, column, table.rows, context);
    if (cells) {
      shown["cells"] = *std::move(cells);
    } else {
      shown["error"] = cells.error().Text();
    }
    columns.push_back(std::move(shown));
  }
  const size_t more = table.columns.size() - columns.size();
  return Json{
      {"rows", table.rows}, {"columns", std::move(columns)}, {"more", more}};
}

}  // namespace ctxfs
