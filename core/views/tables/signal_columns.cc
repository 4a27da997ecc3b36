// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/signal_columns.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/container/facts/facts.h"
#include "core/content/strided.h"
#include "core/views/arrays/elements.h"
#include "core/views/arrays/unique_names.h"
#include "core/views/tables/step_seconds.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr uint64_t kMaxComponents = 64;  // of a signal with columns
constexpr size_t kMaxSignalColumns = 1024;

/// How many numbers a usual signal has per step.
uint64_t ComponentsOf(const ArrayInfo& signal) {
  uint64_t count = 1;
  for (size_t i = 1; i < signal.shape.size(); ++i) count *= signal.shape[i];
  return count;
}

/// Why the signal has no columns; nullopt if it has columns.
std::optional<std::string> WhyLeftOut(const ArrayInfo& signal, size_t columns) {
  if (!IsUsual(signal)) return "its shape is over a limit";
  if (signal.dtype > DType::kF64) return "its type is not that of a column";
  const uint64_t components = ComponentsOf(signal);
  if (components == 0) return "it has no values";
  if (components > kMaxComponents) {
    return fmt::format("{} values a step, and at most {} become columns",
                       components, kMaxComponents);
  }
  if (columns + components > kMaxSignalColumns) {
    return fmt::format("the tables have at most {} columns", kMaxSignalColumns);
  }
  return std::nullopt;
}

/// ".1.2", the indices of a component within a step's `shape`.
std::string IndicesOf(uint64_t component, const std::vector<uint64_t>& shape) {
  std::string text;
  for (size_t i = shape.size() - 1; i > 0; --i) {
    text.insert(0, fmt::format(".{}", component % shape[i]));
    component /= shape[i];
  }
  return text;
}

class ColumnMaker {
 public:
  ColumnMaker(const ArrayInfo& first, SignalTable& into)
      : names_(first.name), into_(into) {
    into_.table.rows = first.shape[0];
    TableColumn column;
    column.name = first.name;
    column.dtype = first.dtype;
    column.open = first.open;
    into_.table.columns.push_back(std::move(column));
  }

  void Add(const ArrayInfo& signal) {
    std::vector<TableColumn>& columns = into_.table.columns;
    if (auto why = WhyLeftOut(signal, columns.size())) {
      into_.left_out.push_back(
          {signal.name, ArrayText(DTypeName(signal.dtype), signal.shape) +
                            ": " + *std::move(why)});
      return;
    }
    const auto shared = std::make_shared<const ArrayInfo>(signal);
    const uint64_t owner = NewOwner();  // of pieces that all components use
    const uint64_t components = ComponentsOf(signal);
    for (uint64_t i = 0; i < components; ++i) {
      TableColumn column;
      column.name = names_.Take(signal.name + IndicesOf(i, signal.shape));
      column.dtype = signal.dtype;
      StridedLayout layout;
      layout.width = static_cast<uint32_t>(DTypeSize(signal.dtype));
      layout.shape = {signal.shape[0]};
      layout.strides = {components};
      layout.offset = i;
      column.open = [shared, layout,
                     owner](const ReadContext& context) -> Result<Content> {
        const Content elements = CTXFS_TRY(OpenElements(*shared, context));
        return StridedContent({owner, 0}, elements, layout);
      };
      columns.push_back(std::move(column));
    }
    ++into_.signals;
  }

 private:
  UniqueNames names_;
  SignalTable& into_;
};

}  // namespace

SignalTable MakeSignalTable(const Episode& episode) {
  SignalTable made;
  made.left_out = episode.left_out;
  const std::optional<ArrayInfo> seconds = SecondsOf(episode);
  ColumnMaker maker(seconds ? *seconds : StepNumbersOf(episode), made);
  for (const ArrayInfo& signal : episode.signals) maker.Add(signal);
  return made;
}

std::string WithoutFormula(std::string name) {
  constexpr std::string_view kStarts = "=+-@\t\r";
  if (!name.empty() && kStarts.find(name.front()) != std::string_view::npos) {
    name.insert(0, 1, '\'');
  }
  return name;
}

}  // namespace ctxfs
