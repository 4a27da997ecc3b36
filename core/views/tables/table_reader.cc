// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/table_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"

namespace ctxfs {
namespace {

constexpr uint64_t kPiece = 64 * limits::kKiB;

/// Reads `count` lines of `text` from byte `at` on, and moves `at` past them.
Result<std::vector<std::string>> ReadLines(const Content& text, uint64_t count,
                                           uint64_t& at,
                                           const ReadContext& context) {
  std::vector<std::string> lines;
  lines.reserve(static_cast<size_t>(count));
  std::string line;
  uint64_t bytes = 0;
  Buffer piece(static_cast<size_t>(std::min(kPiece, text.size() - at)));
  for (uint64_t next = at; lines.size() < count;) {
    const uint64_t size = std::min<uint64_t>(piece.size(), text.size() - next);
    if (size == 0) {
      return Error{Code::kCorrupt, "it has fewer rows than the table"};
    }
    const MutableBytes part = piece.span().first(static_cast<size_t>(size));
    CTXFS_TRY(ReadInto(text, next, part, context));
    next += size;
    std::string_view rest = AsText(part);
    while (lines.size() < count) {
      const size_t end = rest.find('\n');
      line += rest.substr(0, end);
      if (end == std::string_view::npos) break;
      at += line.size() + 1;
      bytes += line.size();
      if (bytes > limits::kDecodedBytes) {
        return Error{Code::kLimit,
                     fmt::format("rows of more than {} bytes of text",
                                 limits::kDecodedBytes)};
      }
      lines.push_back(std::move(line));
      line.clear();
      rest.remove_prefix(end + 1);
    }
    if (line.size() > limits::kDecodedBytes) {
      return Error{Code::kLimit,
                   fmt::format("a row of more than {} bytes of text",
                               limits::kDecodedBytes)};
    }
  }
  return lines;
}

Result<Buffer> ReadWindow(const Content& content, uint64_t at, uint64_t size,
                          const ReadContext& context) {
  Buffer window(static_cast<size_t>(size));
  CTXFS_TRY(ReadInto(content, at, window.span(), context));
  return window;
}

Error Of(const TableColumn& column, Error error) {
  error.what = "column " + Quote(column.name) + ": " + error.what;
  return error;
}

}  // namespace

Result<std::shared_ptr<const TableReader>> TableReader::Open(
    std::shared_ptr<const Container> container, Table table,
    const ReadContext& context) {
  std::shared_ptr<TableReader> reader(
      new TableReader(std::move(container), std::move(table)));
  for (const TableColumn& column : reader->table_.columns) {
    Content values = CTXFS_TRY(column.open(context));
    if (!column.lines() &&
        values.size() != reader->rows() * column.row_size()) {
      return Of(column, {Code::kCorrupt,
                         fmt::format("it has {} bytes, and {} rows need {}",
                                     values.size(), reader->rows(),
                                     reader->rows() * column.row_size())});
    }
    reader->values_.push_back(std::move(values));
    Content valid;
    if (column.open_valid != nullptr && !column.lines()) {
      Content opened = CTXFS_TRY(column.open_valid(context));
      if (opened.size() != reader->rows()) {
        return Of(column, {Code::kCorrupt,
                           fmt::format("its validity has {} rows, not {}",
                                       opened.size(), reader->rows())});
      }
      valid = std::move(opened);
    }
    reader->valid_.push_back(std::move(valid));
  }
  return std::shared_ptr<const TableReader>(std::move(reader));
}

uint64_t TableReader::BlockBytes() const {
  uint64_t bytes = 0;
  for (const std::vector<Content>* contents : {&values_, &valid_}) {
    for (const Content& content : *contents) bytes += content.LargestBlock();
  }
  return bytes;
}

Result<Cells> TableReader::Read(size_t index, uint64_t first, uint64_t count,
                                uint64_t& line,
                                const ReadContext& context) const {
  Cells cells;
  cells.column = &table_.columns[index];
  if (cells.column->lines()) {
    Result<std::vector<std::string>> lines =
        ReadLines(values_[index], count, line, context);
    if (!lines) return Of(*cells.column, std::move(lines).error());
    cells.lines = std::move(*lines);
    return cells;
  }
  const uint64_t row = cells.column->row_size();
  cells.values =
      CTXFS_TRY(ReadWindow(values_[index], first * row, count * row, context));
  if (valid_[index].size() == 0) return cells;
  cells.valid = CTXFS_TRY(ReadWindow(valid_[index], first, count, context));
  return cells;
}

}  // namespace ctxfs
