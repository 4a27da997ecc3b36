// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/first_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/dtype.h"
#include "core/report/sections/array_statistics.h"
#include "core/views/arrays/elements.h"
#include "core/views/tables/table_cells.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxValues = 1000;

/// The index of element `number`: "[0, 12]".
std::string IndexOf(const std::vector<uint64_t>& shape, uint64_t number) {
  std::string index = "]";
  for (size_t i = shape.size(); i-- > 0;) {
    index.insert(0, std::to_string(number % shape[i]));
    if (i > 0) index.insert(0, ", ");
    number /= shape[i];
  }
  return "[" + index;
}

Result<std::vector<std::string>> ValuesOf(const ArrayInfo& array,
                                          const ReadContext& context) {
  TableColumn column;
  column.dtype = Widened(array.dtype);
  Content elements = CTXFS_TRY(OpenElements(array, context));
  if (column.dtype != array.dtype) {
    elements = WidenElements(array.dtype, elements);
  }
  const uint64_t count = std::min(CountOf(array), kMaxValues);
  Cells cells{&column,
              Buffer(static_cast<size_t>(count * DTypeSize(column.dtype))),
              {},
              {}};
  CTXFS_TRY(ReadInto(elements, 0, cells.values.span(), context));
  std::vector<std::string> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) AppendCsvCell(cells, i, values[i]);
  return values;
}

}  // namespace

Result<std::vector<std::string>> FirstValues(const ArrayInfo& array,
                                             size_t columns,
                                             const ReadContext& context) {
  if (!HasStatistics(array.dtype) || CountOf(array) == 0) {
    return std::vector<std::string>();
  }
  const std::vector<std::string> values = CTXFS_TRY(ValuesOf(array, context));
  size_t wide = 0;
  for (const std::string& value : values) wide = std::max(wide, value.size());
  const size_t head = IndexOf(array.shape, values.size() - 1).size();
  const size_t each =
      std::max<size_t>(1, (columns - std::min(columns, head)) / (wide + 1));
  const uint64_t row = array.shape.empty() ? 1 : array.shape.back();
  std::vector<std::string> lines;
  for (uint64_t i = 0; i < values.size(); ++i) {
    if (i % row % each == 0) {
      lines.push_back(fmt::format("{:<{}}", IndexOf(array.shape, i), head));
    }
    lines.back() += fmt::format(" {:>{}}", values[i], wide);
  }
  return lines;
}

}  // namespace ctxfs
