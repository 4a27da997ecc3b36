// SPDX-License-Identifier: Apache-2.0
//
// Writes a table as an Arrow IPC file (docs/views.md, section 8): one
// uncompressed record batch. Numbers of the columns are stored unchanged,
// except bfloat16.
#include <fmt/core.h>

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/views/arrays/elements.h"
#include "core/views/measured_file.h"
#include "core/views/tables/arrow_buffers.h"
#include "core/views/tables/arrow_message.h"
#include "core/views/tables/arrow_table.h"
#include "core/views/tables/table_files.h"
#include "core/views/tables/table_reader.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

/// Sets Arrow's type and width for a number; bf16 is widened to float32.
void SetNumber(DType dtype, ArrowField& field) {
  using enum ArrowKind;
  // The kind for each dtype from bool to float64. Columns have no other dtypes.
  constexpr std::array kKinds = {kBool,  kInt,   kUint, kInt,  kUint,
                                 kInt,   kUint,  kInt,  kUint, kFloat,
                                 kFloat, kFloat, kFloat};
  field.width = static_cast<int32_t>(8 * DTypeSize(Widened(dtype)));
  const auto place = static_cast<size_t>(dtype);
  if (place < kKinds.size()) field.kind = kKinds[place];
}

int64_t Signed(uint64_t n) { return static_cast<int64_t>(n); }

class Batch {
 public:
  Batch(std::shared_ptr<const TableReader> reader, const ReadContext& context)
      : reader_(std::move(reader)), context_(context) {}

  Status Add(size_t column) {
    const TableColumn& from = reader_->table().columns[column];
    ArrowField field;
    field.name = AsUtf8(from.name);
    field.nullable = from.lines() || from.open_valid != nullptr;
    Status added =
        from.lines() ? AddLines(column, field) : AddValues(column, field);
    made_.fields.push_back(std::move(field));
    return added;
  }

  ArrowTable Finish() {
    made_.rows = reader_->rows();
    return std::move(made_);
  }

 private:
  void AddNode(uint64_t length, uint64_t nulls) {
    made_.nodes.push_back({Signed(length), Signed(nulls)});
  }

  void AddBuffer(const Content& bytes) {
    made_.buffers.push_back({Signed(made_.body.size()), Signed(bytes.size())});
    made_.body.Append(bytes);
    const uint64_t over = bytes.size() % kArrowAlignment;
    if (over == 0) return;
    made_.body.Append(
        LiteralContent(std::string(kArrowAlignment - over, '\0')));
  }

  Status AddValues(size_t column, ArrowField& field) {
    const TableColumn& from = reader_->table().columns[column];
    const uint64_t nulls =
        CTXFS_TRY(CountZeros(reader_->valid(column), context_));
    AddNode(reader_->rows(), nulls);
    AddBuffer(nulls == 0 ? Content() : PackBits(reader_->valid(column)));
    if (from.kind == CellKind::kUuid) {
      field.kind = ArrowKind::kFixedBinary;
      field.width = 16;
      AddBuffer(reader_->values(column));
      return {};
    }
    SetNumber(from.dtype, field);
    if (from.list) {
      if (from.per_row > uint64_t{std::numeric_limits<int32_t>::max()}) {
        return Error{Code::kLimit,
                     fmt::format("column {}: {} values a row; an Arrow list "
                                 "has at most 2^31 - 1",
                                 Quote(from.name), from.per_row)};
      }
      field.list_size = static_cast<int32_t>(from.per_row);
      AddNode(reader_->rows() * from.per_row, 0);
      AddBuffer({});
    }
    const Content& values = reader_->values(column);
    AddBuffer(from.dtype == DType::kBool   ? PackBits(values)
              : from.dtype == DType::kBf16 ? WidenElements(from.dtype, values)
                                           : values);
    return {};
  }

  Status AddLines(size_t column, ArrowField& field) {
    const TextBuffers text =
        CTXFS_TRY(MakeTextBuffers(reader_, column, context_));
    const bool bytes =
        reader_->table().columns[column].kind == CellKind::kBytes;
    field.kind = bytes ? ArrowKind::kBinary : ArrowKind::kUtf8;
    field.width = text.wide ? 64 : 32;
    AddNode(reader_->rows(), text.nulls);
    AddBuffer(text.nulls == 0 ? Content() : text.valid);
    AddBuffer(text.offsets);
    AddBuffer(text.data);
    return {};
  }

  std::shared_ptr<const TableReader> reader_;
  const ReadContext& context_;
  ArrowTable made_;
};

Content FileOf(const ArrowTable& table) {
  const int64_t body = Signed(table.body.size());
  const std::string schema = ArrowSchemaMessage(table.fields);
  const std::string batch =
      ArrowBatchMessage(Signed(table.rows), table.nodes, table.buffers, body);
  Content file;
  file.Append(LiteralContent(std::string(kArrowMagic) + schema));
  const ArrowBlock block{Signed(file.size()),
                         static_cast<int32_t>(batch.size()), 0, body};
  file.Append(LiteralContent(batch));
  file.Append(table.body);
  file.Append(LiteralContent(ArrowFooter(table.fields, {block})));
  return file;
}

bool MayHaveArrow(const Exports& exports) { return exports.table != nullptr; }

Status MakeArrow(const Viewed& viewed, const ReadContext& /*context*/,
                 ViewTables& into) {
  constexpr const char* kName = "table.arrow";
  if (!IsComplete(viewed, kName, into)) return {};
  into.push_back(MeasuredFile(
      kName, [container = viewed.container,
              table = viewed.exports.table](const ReadContext& request) {
        return MakeArrowFile(container, table(), request);
      }));
  return {};
}

}  // namespace

Result<ArrowTable> MakeArrowTable(
    const std::shared_ptr<const Container>& container, Table table,
    const ReadContext& context) {
  const auto reader =
      CTXFS_TRY(TableReader::Open(container, std::move(table), context));
  Batch batch(reader, context);
  for (size_t i = 0; i < reader->columns(); ++i) {
    CTXFS_TRY(batch.Add(i));
  }
  return batch.Finish();
}

Result<Content> MakeArrowFile(const std::shared_ptr<const Container>& container,
                              Table table, const ReadContext& context) {
  const ArrowTable made =
      CTXFS_TRY(MakeArrowTable(container, std::move(table), context));
  return FileOf(made);
}

extern const View kArrowView;
const View kArrowView{"arrow", &MayHaveArrow, &MakeArrow};

}  // namespace ctxfs
