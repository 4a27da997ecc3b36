// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/arrow_buffers.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/content/block.h"
#include "core/views/tables/table_cells.h"
#include "core/views/tables/table_reader.h"

namespace ctxfs {
namespace {

constexpr uint64_t kReadBytes = 64 * limits::kKiB;
// Bounds of a block: rows, and approximate bytes of lines. The number of rows
// is a multiple of 8, so that the validity bits fill whole bytes.
constexpr uint64_t kArrowRowsABlock = 8192;
constexpr uint64_t kLinesABlock = 2 * limits::kMiB;

class BitsOf final : public Transform {
 public:
  explicit BitsOf(Content bytes) : bytes_(std::move(bytes)) {}

  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& context) const override {
    Buffer piece(static_cast<size_t>(
        std::min<uint64_t>(kReadBytes, 8 * uint64_t{out.size()})));
    for (size_t at = 0; at < out.size(); at += kReadBytes / 8) {
      const uint64_t first = 8 * (offset + at);
      const uint64_t size = std::min<uint64_t>(
          {kReadBytes, 8 * uint64_t{out.size() - at}, bytes_.size() - first});
      const MutableBytes part = piece.span().first(static_cast<size_t>(size));
      CTXFS_TRY(ReadInto(bytes_, first, part, context));
      for (size_t i = 0; i < part.size(); ++i) {
        if (i % 8 == 0) out[at + i / 8] = std::byte{0};
        if (part[i] == std::byte{0}) continue;
        out[at + i / 8] |= std::byte{1} << (i % 8);
      }
    }
    return {};
  }

  Status Verify(const ReadContext& context) const override {
    return bytes_.Verify(context);
  }

 private:
  Content bytes_;
};

/// Returns how many rows of a column of lines to decode together.
uint64_t RowsAtOnce(const TableReader& reader, size_t column) {
  const uint64_t line =
      reader.values(column).size() / std::max<uint64_t>(reader.rows(), 1);
  const uint64_t rows = kLinesABlock / std::max<uint64_t>(line, 1);
  return std::clamp<uint64_t>(rows / 8 * 8, 8, kArrowRowsABlock);
}

/// The values of consecutive lines.
struct Rows {
  std::string data;
  std::vector<uint64_t> ends;  // the end of each row in `data`
  std::string valid;           // one bit a row, lowest first
  uint64_t nulls = 0;
};

Rows RowsOf(const Cells& cells) {
  Rows rows;
  rows.ends.reserve(cells.lines.size());
  rows.valid.resize((cells.lines.size() + 7) / 8);
  for (size_t i = 0; i < cells.lines.size(); ++i) {
    if (const auto text = TextOf(cells.lines[i])) {
      rows.data += cells.column->kind == CellKind::kBytes
                       ? FromBase64(*text).value_or("")
                       : *text;
      char& bits = rows.valid[i / 8];
      bits = static_cast<char>(bits | 1 << (i % 8));
    } else {
      ++rows.nulls;
    }
    rows.ends.push_back(rows.data.size());
  }
  return rows;
}

/// Rows of a column of text. Layout: the end offset of each row within the
/// column's data, then the rows' data, then their validity bits.
class TextBlock final : public Block {
 public:
  struct Where {
    uint64_t first = 0;  // row
    uint64_t count = 0;
    uint64_t line = 0;  // offset of the first row's line in the column
    uint64_t data = 0;  // offset of the first row's data in the column's data
    uint64_t size = 0;  // bytes of the rows' data
    bool wide = false;  // as TextBuffers::wide

    uint64_t offsets_size() const { return count * (wide ? 8 : 4); }
    uint64_t valid_size() const { return (count + 7) / 8; }
  };

  TextBlock(Key key, std::shared_ptr<const TableReader> reader, size_t column,
            const Where& where)
      : Block(key),
        reader_(std::move(reader)),
        column_(column),
        where_(where) {}

  // Counts the lines, a copy of their data, and the offsets. The blocks that
  // lines are read from have their own cost.
  uint64_t cost() const override {
    return where_.count * kLineMemory + 4 * where_.size;
  }
  const Source* made_from() const override {
    return reader_->container().source().get();
  }

  Result<Buffer> Produce(const ReadContext& context) const override {
    uint64_t line = where_.line;
    const Cells cells = CTXFS_TRY(
        reader_->Read(column_, where_.first, where_.count, line, context));
    const Rows rows = RowsOf(cells);
    if (rows.data.size() != where_.size) {
      return Error{
          Code::kCorrupt,
          fmt::format(
              "rows from {} have {} bytes, and had {} when they were measured",
              where_.first, rows.data.size(), where_.size)};
    }
    std::string made;
    made.reserve(static_cast<size_t>(where_.offsets_size() + where_.size +
                                     where_.valid_size()));
    for (const uint64_t end : rows.ends) {
      const uint64_t offset = where_.data + end;
      where_.wide ? AppendLe(offset, made)
                  : AppendLe(static_cast<uint32_t>(offset), made);
    }
    made += rows.data;
    made += rows.valid;
    return BufferOf(made);
  }

 private:
  std::shared_ptr<const TableReader> reader_;
  size_t column_;
  Where where_;
};

}  // namespace

Content PackBits(const Content& bytes) {
  return {Computed{std::make_shared<const BitsOf>(bytes), 0},
          bytes.size() / 8 + (bytes.size() % 8 != 0 ? 1 : 0)};
}

Result<uint64_t> CountZeros(const Content& bytes, const ReadContext& context) {
  uint64_t zeros = 0;
  Buffer piece(static_cast<size_t>(std::min(kReadBytes, bytes.size())));
  for (uint64_t at = 0; at < bytes.size(); at += kReadBytes) {
    const MutableBytes part = piece.span().first(
        static_cast<size_t>(std::min(kReadBytes, bytes.size() - at)));
    CTXFS_TRY(ReadInto(bytes, at, part, context));
    zeros += static_cast<uint64_t>(
        std::count(part.begin(), part.end(), std::byte{0}));
  }
  return zeros;
}

Result<TextBuffers> MakeTextBuffers(
    const std::shared_ptr<const TableReader>& reader, size_t column,
    const ReadContext& context) {
  TextBuffers made;
  std::vector<TextBlock::Where> blocks;
  uint64_t line = 0;
  uint64_t size = 0;
  const uint64_t step = RowsAtOnce(*reader, column);
  for (uint64_t first = 0; first < reader->rows(); first += step) {
    TextBlock::Where where;
    where.first = first;
    where.count = std::min(step, reader->rows() - first);
    where.line = line;
    where.data = size;
    const Cells cells =
        CTXFS_TRY(reader->Read(column, first, where.count, line, context));
    const Rows rows = RowsOf(cells);
    where.size = rows.data.size();
    size += where.size;
    made.nulls += rows.nulls;
    blocks.push_back(where);
  }
  made.wide = size > uint64_t{std::numeric_limits<int32_t>::max()};
  const size_t width = made.wide ? 8 : 4;
  made.offsets = LiteralContent(std::string(width, '\0'));
  const uint64_t owner = NewOwner();
  for (TextBlock::Where& where : blocks) {
    where.wide = made.wide;
    auto block = std::make_shared<const TextBlock>(Key{owner, where.first},
                                                   reader, column, where);
    const uint64_t data_at = where.offsets_size();
    made.offsets.Append(Decoded{block, 0}, data_at);
    made.data.Append(Decoded{block, data_at}, where.size);
    made.valid.Append(Decoded{block, data_at + where.size}, where.valid_size());
  }
  return made;
}

}  // namespace ctxfs
