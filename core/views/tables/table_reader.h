// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Bytes of memory of a line besides its text.
constexpr uint64_t kLineMemory = 64;

/// Rows of one column, in memory.
struct Cells {
  const TableColumn* column = nullptr;
  Buffer values;                   // row_size() bytes a row; empty for lines
  Buffer valid;                    // one byte a row; empty: all rows are valid
  std::vector<std::string> lines;  // JSON, one a row

  bool IsValid(uint64_t row) const {
    return valid.size() == 0 || valid.data()[row] != std::byte{0};
  }
  const std::byte* at(uint64_t row) const {
    return values.data() + row * column->row_size();
  }
};

class TableReader {
 public:
  static Result<std::shared_ptr<const TableReader>> Open(
      std::shared_ptr<const Container> container, Table table,
      const ReadContext& context);

  const Container& container() const { return *container_; }
  const Table& table() const { return table_; }
  uint64_t rows() const { return table_.rows; }
  size_t columns() const { return table_.columns.size(); }
  const Content& values(size_t column) const { return values_[column]; }
  /// Empty if no row can be null.
  const Content& valid(size_t column) const { return valid_[column]; }

  /// Bytes of blocks that reading a row needs: the sum of each column's largest
  /// block.
  uint64_t BlockBytes() const;

  /// Reads the rows [first, first + count) of a column. In a column of lines, a
  /// line can be found only by reading the lines before it. So for such a
  /// column, `line` must be the byte offset of the first row, and Read moves it
  /// past the last row. Fails with kCorrupt if the column has too few lines,
  /// with kLimit if the lines are too long, and if Content::Read fails.
  Result<Cells> Read(size_t column, uint64_t first, uint64_t count,
                     uint64_t& line, const ReadContext& context) const;

 private:
  TableReader(std::shared_ptr<const Container> container, Table table)
      : container_(std::move(container)), table_(std::move(table)) {}

  std::shared_ptr<const Container> container_;
  Table table_;
  std::vector<Content> values_;
  std::vector<Content> valid_;
};

}  // namespace ctxfs
