// SPDX-License-Identifier: Apache-2.0
//
// Renders a table as CSV or JSON lines (docs/views.md, section 7). The size of
// the file depends on the values, so the first look-up renders all of it.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/content/block.h"
#include "core/views/measured_file.h"
#include "core/views/tables/table_cells.h"
#include "core/views/tables/table_files.h"
#include "core/views/tables/table_reader.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

// Maximum cells and maximum rows of a block, if the cache can hold the blocks
// that the rows are read from (RowsAtOnce).
constexpr uint64_t kCellsABlock = 65'536;
constexpr uint64_t kTextRowsABlock = 4096;
// Rows rendered between two checks of interrupt and limits.
constexpr uint64_t kRowsACheck = 256;
// An estimate of the bytes of text of a number.
constexpr uint64_t kCellText = 24;
// Bytes of memory for rendering a block of rows. If texts are long, a block has
// fewer rows.
constexpr uint64_t kMemoryABlock = 8 * limits::kMiB;

enum class Style : uint8_t { kCsv, kJsonLines };

/// The byte offset of a row's line in each column of lines, in column order.
using Place = std::vector<uint64_t>;
using Reader = std::shared_ptr<const TableReader>;

/// The text before each cell: a comma, and for JSON the key.
std::vector<std::string> CellPrefixes(const Table& table, Style style) {
  std::vector<std::string> prefixes;
  for (const TableColumn& column : table.columns) {
    std::string head = prefixes.empty() ? "" : ",";
    if (style == Style::kJsonLines) {
      if (prefixes.empty()) head += '{';
      head += JsonLine(column.name) + ':';
    }
    prefixes.push_back(std::move(head));
  }
  return prefixes;
}

std::string CsvHeader(const Table& table) {
  std::string header;
  for (const TableColumn& column : table.columns) {
    if (!header.empty()) header += ',';
    AppendCsvField(column.name, header);
  }
  return header + '\n';
}

/// Charges the request for the growth of `text` since the last call.
Status ChargeText(const std::string& text, size_t& counted,
                  const ReadContext& context) {
  const size_t more = text.size() - counted;
  counted = text.size();
  if (counted > limits::kDecodedBytes) {
    return Error{Code::kLimit, fmt::format("rows of more than {} bytes of text",
                                           limits::kDecodedBytes)};
  }
  CTXFS_TRY(context.Check());
  return context.Charge(more);
}

/// Returns the rows [first, first + count) as text. Moves `place` from the
/// first row to the row after the last.
Result<Buffer> Render(const TableReader& reader, Style style, uint64_t first,
                      uint64_t count, Place& place,
                      const ReadContext& context) {
  std::vector<Cells> columns;
  size_t lines = 0;
  uint64_t none = 0;
  for (size_t i = 0; i < reader.columns(); ++i) {
    const bool has_lines = reader.table().columns[i].lines();
    uint64_t& line = has_lines ? place[lines++] : none;
    Cells cells = CTXFS_TRY(reader.Read(i, first, count, line, context));
    columns.push_back(std::move(cells));
  }
  const std::vector<std::string> prefixes = CellPrefixes(reader.table(), style);
  std::string text;
  size_t counted = 0;
  for (uint64_t row = 0; row < count; ++row) {
    if (row % kRowsACheck == 0) {
      CTXFS_TRY(ChargeText(text, counted, context));
    }
    const size_t before = text.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      text += prefixes[i];
      style == Style::kCsv ? AppendCsvCell(columns[i], row, text)
                           : AppendJsonCell(columns[i], row, text);
    }
    // Writes "" instead of an empty line, because most readers skip empty
    // lines.
    if (style == Style::kCsv && text.size() == before) text += "\"\"";
    text += style == Style::kCsv ? "\n" : "}\n";
  }
  CTXFS_TRY(ChargeText(text, counted, context));
  return BufferOf(text);
}

/// Estimates the memory of rendering a row: values, text, and a copy of it.
uint64_t MemoryOfARow(const TableReader& reader) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < reader.columns(); ++i) {
    const TableColumn& column = reader.table().columns[i];
    const uint64_t text =
        column.lines()
            ? reader.values(i).size() / std::max<uint64_t>(reader.rows(), 1)
            : kCellText * column.per_row;
    bytes +=
        column.lines() ? kLineMemory + 3 * text : column.row_size() + 2 * text;
  }
  return bytes;
}

class RowsBlock final : public Block {
 public:
  RowsBlock(Key key, Reader reader, Style style, uint64_t first, uint64_t count,
            Place place)
      : Block(key),
        reader_(std::move(reader)),
        style_(style),
        first_(first),
        count_(count),
        place_(std::move(place)) {}

  // The blocks that values are read from have their own cost.
  uint64_t cost() const override { return count_ * MemoryOfARow(*reader_); }
  const Source* made_from() const override {
    return reader_->container().source().get();
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Place place = place_;
    return Render(*reader_, style_, first_, count_, place, context);
  }

 private:
  Reader reader_;
  Style style_;
  uint64_t first_;
  uint64_t count_;
  Place place_;
};

/// Rows that are rendered to measure the file. Rendering moves `place` past
/// them. This is a block, so that the cache bounds its memory and later readers
/// find it cached.
class MeasuredRows final : public Block {
 public:
  struct Rows {
    uint64_t first;
    uint64_t count;
  };

  MeasuredRows(Key key, const TableReader& reader, Style style, Rows rows,
               Place& place, const ReadContext& request)
      : Block(key),
        reader_(reader),
        style_(style),
        rows_(rows),
        place_(place),
        request_(request) {}

  uint64_t cost() const override { return rows_.count * MemoryOfARow(reader_); }

  // Charges the request for the text while it is rendered (ChargeText), because
  // cost() is only an estimate.
  Result<Buffer> Produce(const ReadContext& context) const override {
    return Render(reader_, style_, rows_.first, rows_.count, place_,
                  request_.With(context.interrupt()));
  }

 private:
  const TableReader& reader_;
  const Style style_;
  const Rows rows_;
  Place& place_;
  const ReadContext& request_;
};

/// Returns how many rows to render together. Rendering rows decodes one block
/// of each column. If all these blocks fit into the cache, they stay cached for
/// the next rows. Otherwise each group of rows decodes the blocks again, so a
/// group is as large as the cache allows.
uint64_t RowsAtOnce(const TableReader& reader, const ReadContext& context) {
  uint64_t values = 0;  // values per row
  for (const TableColumn& column : reader.table().columns) {
    values += column.per_row;
  }
  const uint64_t memory = std::max<uint64_t>(MemoryOfARow(reader), 1);
  const uint64_t usual = std::clamp<uint64_t>(
      std::min(kCellsABlock / std::max<uint64_t>(values, 1),
               kMemoryABlock / memory),
      1, kTextRowsABlock);
  const uint64_t room = context.cache().budget();
  if (reader.BlockBytes() <= room / 2) return usual;
  constexpr uint64_t kParts = 2;  // of the cache: one is for the rows
  return std::max(usual, room / kParts / memory);
}

/// Returns a lower bound of the rendered size: for each row, a character and a
/// separator for each number, and a separator for each column of lines.
uint64_t LeastText(const TableReader& reader) {
  uint64_t row = 0;
  for (const TableColumn& column : reader.table().columns) {
    row += column.lines() ? 1 : 2 * column.per_row;
  }
  return CheckedMul(row, reader.rows()).value_or(UINT64_MAX);
}

/// Renders the whole file once to measure it, and returns it in blocks.
Result<Content> RenderAll(const std::shared_ptr<const Container>& container,
                          Table table, Style style,
                          const ReadContext& context) {
  const std::string header = style == Style::kCsv ? CsvHeader(table) : "";
  const Reader reader =
      CTXFS_TRY(TableReader::Open(container, std::move(table), context));
  // Columns may expand a few bytes to many rows. If that exceeds the work
  // limit, fails before any work.
  CTXFS_TRY(context.CheckCharge(LeastText(*reader)));
  Place place;
  for (const TableColumn& column : reader->table().columns) {
    if (column.lines()) place.push_back(0);
  }
  const uint64_t step = RowsAtOnce(*reader, context);
  Content content = LiteralContent(header);
  const uint64_t owner = NewOwner();
  const uint64_t rows = reader->rows();
  Work unbounded(UINT64_MAX, 0);
  const ReadContext cached = context.With(unbounded);
  if (rows / step > limits::kTablePlaces / (place.size() + 1)) {
    return Error{
        Code::kLimit,
        fmt::format(
            "{} rows of {} columns of text: more than {} positions to remember",
            rows, place.size(), limits::kTablePlaces)};
  }
  for (uint64_t first = 0; first < rows; first += step) {
    const uint64_t count = std::min(step, rows - first);
    const Key key{owner, first};
    auto block = std::make_shared<const RowsBlock>(key, reader, style, first,
                                                   count, place);
    const BlockCache::Pinned text = CTXFS_TRY(cached.Get(
        MeasuredRows(key, *reader, style, {first, count}, place, context)));
    const uint64_t size = text->size();
    if (size > limits::kTableText - content.size()) {
      return Error{Code::kLimit,
                   fmt::format("a table of more than {} bytes of text",
                               limits::kTableText)};
    }
    content.Append(Decoded{std::move(block), 0}, size);
  }
  return content;
}

std::shared_ptr<const FileTable> TextFile(std::string path,
                                          const Viewed& viewed, Style style) {
  return MeasuredFile(std::move(path), [container = viewed.container,
                                        table = viewed.exports.table,
                                        style](const ReadContext& context) {
    return RenderAll(container, table(), style, context);
  });
}

bool MayHaveText(const Exports& exports) {
  return exports.table != nullptr && exports.table().as_text;
}

void AddTextFile(std::string_view name, const Viewed& viewed, Style style,
                 ViewTables& into) {
  if (!IsComplete(viewed, name, into)) return;
  into.push_back(TextFile(std::string(name), viewed, style));
}

Status MakeTextFiles(const Viewed& viewed, const ReadContext& /*context*/,
                     ViewTables& into) {
  AddTextFile("table.csv", viewed, Style::kCsv, into);
  AddTextFile("table.jsonl", viewed, Style::kJsonLines, into);
  return {};
}

}  // namespace

Result<Content> MakeCsv(const std::shared_ptr<const Container>& container,
                        Table table, const ReadContext& context) {
  return RenderAll(container, std::move(table), Style::kCsv, context);
}

extern const View kTableView;
const View kTableView{"table", &MayHaveText, &MakeTextFiles};

}  // namespace ctxfs
