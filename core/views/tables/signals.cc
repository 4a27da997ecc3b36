// SPDX-License-Identifier: Apache-2.0
//
// The signals of an episode as tables (docs/views.md, section 11):
//
//   signals.csv, signals.arrow   a row for each step
//   signals.left_out.txt         signals without columns, with the reasons;
//                                only if there are any
#include <fmt/core.h>

#include <memory>
#include <string>
#include <utility>

#include "core/base/text/text.h"
#include "core/container/documents.h"
#include "core/container/interfaces/has_episode.h"
#include "core/views/measured_file.h"
#include "core/views/tables/signal_columns.h"
#include "core/views/tables/table_files.h"
#include "core/views/view.h"

namespace ctxfs {
namespace {

constexpr const char* kCsvName = "signals.csv";
constexpr const char* kArrowName = "signals.arrow";
constexpr size_t kLeftOutBytes = 65'536;  // maximum of signals.left_out.txt

std::string LeftOutText(const SignalTable& table) {
  std::string text =
      table.signals == 0
          ? fmt::format("There is no {} or {}: no signal has columns.\n",
                        kCsvName, kArrowName)
          : fmt::format("{} and {} have {} columns of {} signals, and not:\n",
                        kCsvName, kArrowName, table.table.columns.size() - 1,
                        table.signals);
  size_t told = 0;
  for (const Episode::Omission& one : table.left_out) {
    if (text.size() > kLeftOutBytes) break;
    text += Quote(one.name) + ": " + one.reason + '\n';
    ++told;
  }
  if (told < table.left_out.size()) {
    text += fmt::format("and {} more\n", table.left_out.size() - told);
  }
  return text;
}

Table ForCsv(const Table& table) {
  Table named = table;
  for (TableColumn& column : named.columns) {
    column.name = WithoutFormula(std::move(column.name));
  }
  return named;
}

void AddTables(const std::shared_ptr<const Container>& container, Table made,
               ViewTables& into) {
  const auto table = std::make_shared<const Table>(std::move(made));
  into.push_back(
      MeasuredFile(kCsvName, [container, table](const ReadContext& context) {
        return MakeCsv(container, ForCsv(*table), context);
      }));
  into.push_back(
      MeasuredFile(kArrowName, [container, table](const ReadContext& context) {
        return MakeArrowFile(container, *table, context);
      }));
}

Status MakeSignals(const Viewed& viewed, const ReadContext& context,
                   ViewTables& into) {
  const HasEpisode* const may_be = MayBeEpisode(*viewed.container);
  if (may_be == nullptr) return {};
  const std::optional<Episode> episode = may_be->AsEpisode(context);
  if (!episode) return {};
  const bool has_csv = IsComplete(viewed, kCsvName, into);
  const bool has_arrow = IsComplete(viewed, kArrowName, into);
  if (!has_csv || !has_arrow) return {};
  SignalTable made = MakeSignalTable(*episode);
  if (!made.left_out.empty()) {
    into.push_back(FixedFile(Role::kPrimary, "signals.left_out.txt",
                             LiteralContent(LeftOutText(made))));
  }
  // A table without signals is not made, because no stored data would bound its
  // number of rows.
  if (made.signals == 0) return {};
  AddTables(viewed.container, std::move(made.table), into);
  return {};
}

}  // namespace

extern const View kSignalsView;
const View kSignalsView{"signals", &MayHaveArrays, &MakeSignals};

}  // namespace ctxfs
