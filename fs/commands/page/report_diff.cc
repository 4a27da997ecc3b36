// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs report --diff`: writes the page of a comparison.
#include "fs/commands/page/report_diff.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/io/urls/url.h"
#include "core/report/identity.h"
#include "core/report/page.h"
#include "core/report/script_json.h"
#include "fs/commands/compare/diff_result.h"
#include "fs/commands/page/report_output.h"
#include "fs/commands/target.h"

namespace ctxfs {
namespace {

// Maximum number of rows on a page.
constexpr uint64_t kMaxRows = 100'000;
// Bytes of text after which a page gets no further rows.
constexpr uint64_t kMaxRowBytes = 24 * limits::kMiB;

/// The name, format and identity of one side.
Json SideOf(const Arguments& arguments, const std::string& operand,
            const DiffSide& side, Json& left_out) {
  const std::string path = WithoutQuery(operand);
  Json shown = {{"name", CutText(arguments.paths ? path : NameOfPath(path),
                                 kEntryNameBytes)},
                {"format", side.format()},
                {"facts", Json::array()}};
  if (side.container() == nullptr) return shown;
  const Identity identity = Identity::Of(*side.container(), side.context());
  shown["facts"] = identity.PageFacts();
  for (const std::string& note : identity.Notes()) {
    left_out.push_back(fmt::format("of {}: {}", NameOfPath(path), note));
  }
  return shown;
}

/// The differing entries as JSON text, as many as fit on a page.
std::string RowsOf(const DiffResult& result, Json& left_out) {
  std::string text;
  uint64_t rows = 0;
  uint64_t more = 0;
  for (const EntryDifference& one : result.found) {
    if (one.kind == DiffKind::kSame) continue;
    if (rows == kMaxRows || text.size() >= kMaxRowBytes) {
      ++more;
      continue;
    }
    text += (rows == 0 ? "" : ",\n") + ScriptJson(DifferenceJson(one));
    ++rows;
  }
  if (more != 0) {
    left_out.push_back(
        fmt::format("{} of {} entries that differ are not in the table", more,
                    rows + more));
  }
  return text;
}

}  // namespace

int WriteComparison(const Arguments& arguments, int to) {
  DiffSide first(arguments);
  DiffSide second(arguments);
  const std::optional<DiffResult> result =
      DiffResult::Of(arguments, first, second);
  if (!result) return DiffTally::kFailedCode;
  Json left_out = Json::array();
  Json comparison = {
      {"first", SideOf(arguments, arguments.operands[0], first, left_out)},
      {"second", SideOf(arguments, arguments.operands[1], second, left_out)},
      {"totals", TallyJson(result->tally)},
      {"values", arguments.values}};
  for (const auto& [source, container] : result->incomplete) {
    left_out.push_back(fmt::format(
        "{} is incomplete: {}",
        NameOfPath(container.path.empty() ? source : container.path),
        container.error.Text()));
  }
  const std::string rows = RowsOf(*result, left_out);
  comparison["left_out"] = std::move(left_out);
  const std::string title = fmt::format(
      "{} \u2192 {}", comparison["first"]["name"].get<std::string>(),
      comparison["second"]["name"].get<std::string>());
  const std::string head = PageHead(title);
  const std::string data =
      ComparisonData(title, "{\"entries\":[" + rows + "],\n" +
                                ScriptJson(comparison).substr(1));
  for (const std::string* part : {&head, &data, TheFrame().tail.get()}) {
    if (!WriteAll(to, AsBytes(*part), "pipe")) return DiffTally::kFailedCode;
  }
  return result->ExitCode();
}

}  // namespace ctxfs
