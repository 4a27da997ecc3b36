// SPDX-License-Identifier: Apache-2.0
//
// A table as CSV and as JSON lines (docs/views.md, section 7). How long they
// are is known once they have been made, which is when someone looks them up.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/base/json.h"
#include "core/base/limits.h"
#include "core/content/block.h"
#include "core/views/measured_file.h"
#include "core/views/tables/table_cells.h"
#include "core/views/tables/table_reader.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

// Cells that are put into text together.
constexpr uint64_t kCellsABlock = 65'536;
constexpr uint64_t kRowsABlock = 4096;

enum class Style : uint8_t { kCsv, kJsonLines };

/// Where a row's line is in each column of lines, in their order.
using Place = std::vector<uint64_t>;
using Reader = std::shared_ptr<const TableReader>;

std::string JsonText(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// What stands before each cell: for JSON, its key.
std::vector<std::string> Heads(const Table& table, Style style) {
  std::vector<std::string> heads;
  for (const TableColumn& column : table.columns) {
    std::string head = heads.empty() ? "" : ",";
    if (style == Style::kJsonLines) {
      if (heads.empty()) head += '{';
      head += JsonText(column.name) + ':';
    }
    heads.push_back(std::move(head));
  }
  return heads;
}

std::string CsvHeader(const Table& table) {
  std::string header;
  for (const TableColumn& column : table.columns) {
    if (!header.empty()) header += ',';
    AppendCsvField(column.name, header);
  }
  return header + '\n';
}

/// The rows [first, first + count) as text; `place` is the first row's, and
/// then that of the row behind the last.
Result<std::string> Render(const TableReader& reader, Style style,
                           uint64_t first, uint64_t count, Place& place,
                           const ReadContext& context) {
  std::vector<Cells> columns;
  size_t lines = 0;
  uint64_t none = 0;
  for (size_t i = 0; i < reader.columns(); ++i) {
    const bool has_lines = reader.table().columns[i].lines();
    uint64_t& line = has_lines ? place[lines++] : none;
    Result<Cells> cells = reader.Read(i, first, count, line, context);
    if (!cells) return std::move(cells).error();
    columns.push_back(std::move(*cells));
  }
  const std::vector<std::string> heads = Heads(reader.table(), style);
  std::string text;
  for (uint64_t row = 0; row < count; ++row) {
    const size_t before = text.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      text += heads[i];
      style == Style::kCsv ? AppendCsvCell(columns[i], row, text)
                           : AppendJsonCell(columns[i], row, text);
    }
    // An empty line is no row to most readers.
    if (style == Style::kCsv && text.size() == before) text += "\"\"";
    text += style == Style::kCsv ? "\n" : "}\n";
    if (text.size() > limits::kDecodedBytes) {
      return Error{Code::kLimit, "rows of more than " +
                                     std::to_string(limits::kDecodedBytes) +
                                     " bytes of text"};
    }
  }
  return text;
}

Buffer ToBuffer(std::string_view text) {
  Buffer buffer(text.size());
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

/// Some rows as text.
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

  uint64_t cost() const override { return 0; }  // it reads blocks
  Status CheckUnchanged() const override {
    return reader_->container().source()->CheckUnchanged();
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    Place place = place_;
    const Result<std::string> text =
        Render(*reader_, style_, first_, count_, place, context);
    if (!text) return text.error();
    return ToBuffer(*text);
  }

 private:
  Reader reader_;
  Style style_;
  uint64_t first_;
  uint64_t count_;
  Place place_;
};

/// The same when it has just been measured, for the cache to keep.
class RenderedBlock final : public Block {
 public:
  RenderedBlock(Key key, const std::string& text) : Block(key), text_(text) {}
  uint64_t cost() const override { return text_.size(); }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    return ToBuffer(text_);
  }

 private:
  const std::string& text_;
};

/// The whole file, in blocks. Renders all of it once, to measure it.
Result<Content> MakeText(const std::shared_ptr<const Container>& container,
                         Style style, const ReadContext& context) {
  std::optional<Table> table = container->RowTable();
  if (!table) return Error{Code::kCorrupt, "the table is gone"};
  const std::string header = style == Style::kCsv ? CsvHeader(*table) : "";
  Result<Reader> reader =
      TableReader::Open(container, std::move(*table), context);
  if (!reader) return std::move(reader).error();
  uint64_t width = 0;  // values of a row
  Place place;
  for (const TableColumn& column : (*reader)->table().columns) {
    width += column.per_row;
    if (column.lines()) place.push_back(0);
  }
  const uint64_t step = std::clamp<uint64_t>(
      kCellsABlock / std::max<uint64_t>(width, 1), 1, kRowsABlock);
  Content content;
  content.Append(Literal{std::make_shared<const std::string>(header)},
                 header.size());
  const uint64_t owner = NewOwner();
  const uint64_t rows = (*reader)->rows();
  if (rows / step > limits::kTablePlaces / (place.size() + 1)) {
    return Error{Code::kLimit, "too many rows and columns for a text"};
  }
  for (uint64_t first = 0; first < rows; first += step) {
    const uint64_t count = std::min(step, rows - first);
    const Key key{owner, first};
    auto block = std::make_shared<const RowsBlock>(key, *reader, style, first,
                                                   count, place);
    const Result<std::string> text =
        Render(**reader, style, first, count, place, context);
    if (!text) return text.error();
    if (text->size() > limits::kTableText - content.size()) {
      return Error{Code::kLimit, "a table of more than " +
                                     std::to_string(limits::kTableText) +
                                     " bytes of text"};
    }
    if (auto kept = context.Get(RenderedBlock(key, *text)); !kept) {
      return kept.error();
    }
    content.Append(Decoded{std::move(block), 0}, text->size());
  }
  return content;
}

std::shared_ptr<const DerivedFiles> TextFile(
    std::string path, std::shared_ptr<const Container> container, Style style) {
  return std::make_shared<const MeasuredFile>(
      std::move(path),
      [container = std::move(container), style](const ReadContext& context) {
        return MakeText(container, style, context);
      });
}

bool MayHave(const Container& container) {
  const std::optional<Table> table = container.RowTable();
  return table && table->as_text;
}

void Make(const Viewed& viewed, ViewFiles& into) {
  if (!MayHave(*viewed.container)) return;
  into.derived.push_back(TextFile("table.csv", viewed.container, Style::kCsv));
  into.derived.push_back(
      TextFile("table.jsonl", viewed.container, Style::kJsonLines));
}

}  // namespace

extern const View kTableView;
const View kTableView{"table", &MayHave, &Make};

}  // namespace ctxfs
