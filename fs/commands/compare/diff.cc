// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs diff`: compares two containers, directories or files.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text/human_size.h"
#include "core/io/urls/url.h"
#include "fs/commands/arguments.h"
#include "fs/commands/compare/diff_groups.h"
#include "fs/commands/compare/diff_printer.h"
#include "fs/commands/compare/diff_result.h"

namespace ctxfs {
namespace {

constexpr int kFailedCode = DiffTally::kFailedCode;

void PrintTally(const DiffTally& tally) {
  for (size_t i = 0; i < kDiffKinds; ++i) {
    if (tally.entries[i] == 0) continue;
    std::printf("%-8s %10llu  %s\n", DiffKindName(static_cast<DiffKind>(i)),
                static_cast<unsigned long long>(tally.entries[i]),
                HumanSize(tally.bytes[i]).c_str());
  }
}

void PrintDiffJson(const Arguments& arguments, const DiffSide& first,
                   const DiffSide& second, const DiffResult& result) {
  Json json = {{"first", WithoutQuery(arguments.operands.front())},
               {"second", WithoutQuery(arguments.operands.back())},
               {"formats", {first.format(), second.format()}},
               {"incomplete", IncompleteJson(result)},
               {"names", NamesJson(result)},
               {"totals", TallyJson(result.tally)}};
  if (!arguments.stat) {
    json["entries"] = Json::array();
    for (const EntryDifference& one : result.found) {
      if (one.kind == DiffKind::kSame) continue;
      json["entries"].push_back(DifferenceJson(one));
    }
  }
  std::fputs(PrintableJson(FormatJson(json)).c_str(), stdout);
}

void PrintDiffText(const Arguments& arguments, const DiffSide& first,
                   const DiffSide& second, const DiffResult& result) {
  const DiffPrinter printer;
  printer.PrintIncomplete(result);
  if (first.format() != second.format()) {
    std::printf("format: %s -> %s\n",
                first.format().empty() ? "none" : first.format().c_str(),
                second.format().empty() ? "none" : second.format().c_str());
  }
  if (result.names) {
    std::printf("names: %llu tensors of %s by their names on the hub\n",
                static_cast<unsigned long long>(result.names->arrays),
                result.names->architecture.c_str());
  }
  const std::vector<DiffGroup> groups = GroupsOf(result.found);
  if (arguments.stat) {
    printer.PrintStat(groups);
    PrintTally(result.tally);
    return;
  }
  printer.Print(groups);
  std::puts(result.tally.Text().c_str());
}

int RunDiff(const Arguments& arguments) {
  DiffSide first(arguments);
  DiffSide second(arguments);
  const std::optional<DiffResult> result =
      DiffResult::Of(arguments, first, second);
  if (!result) return kFailedCode;
  (arguments.json ? &PrintDiffJson : &PrintDiffText)(arguments, first, second,
                                                     *result);
  return result->ExitCode();
}

}  // namespace

const Command kDiffCommand{
    .name = "diff",
    .operands = "SOURCE[//PATH] SOURCE[//PATH]",
    .summary = "Compares two containers, files or directories",
    .run = &RunDiff,
    .options = "jJTUSKIN",
    .examples =
        "  ctxfs diff base.safetensors tuned.safetensors\n"
        "  ctxfs diff --values model.safetensors model-q8_0.gguf\n"
        "  ctxfs diff a.mosh//layers/0/weight b.mosh//layers/0/weight\n",
    .kind = OperandKind::kPath,
    .min_operands = 2,
    .max_operands = 2,
    .usage_error = kFailedCode,
    .key_error = kFailedCode,
    .source_error = kFailedCode,
    .exit_codes =
        "  0 the same, 1 different, 2 something could not be "
        "compared, or usage\n"};

}  // namespace ctxfs
