// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/result.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// The meaning of the values of a table's column.
enum class CellKind : uint8_t {
  kNumber,  // of the column's dtype, which may be bool
  kUuid,    // 16 bytes
  kText,    // a line of JSON per row: a string, or null
  kBytes,   // like kText, but the string is base64
};

struct TableColumn {
  std::string name;
  CellKind kind = CellKind::kNumber;
  DType dtype = DType::kU8;  // of numbers
  /// Values per row. If more than one, a cell is a list. 1 for all kinds but
  /// kNumber.
  uint64_t per_row = 1;
  /// Opens the values of all rows, little-endian and row-major; for kText and
  /// kBytes, the lines of JSON.
  std::function<Result<Content>(const ReadContext&)> open;
  /// Opens one byte per row, 0 for a null. There is no function if no row can
  /// be null, and none for lines(), where `open` includes the nulls.
  std::function<Result<Content>(const ReadContext&)> open_valid = nullptr;
  /// Whether each row is a list, even with one value.
  bool list = false;

  bool lines() const {
    return kind == CellKind::kText || kind == CellKind::kBytes;
  }
  /// Bytes of a row; 0 for lines.
  uint64_t row_size() const {
    if (lines()) return 0;
    return kind == CellKind::kUuid ? 16 : per_row * DTypeSize(dtype);
  }
};

/// Rows of typed columns, each as long as the table: the data of views/table.*.
struct Table {
  uint64_t rows = 0;
  std::vector<TableColumn> columns;
  bool as_text = true;  // whether CSV and JSON lines are useful
};

}  // namespace ctxfs
