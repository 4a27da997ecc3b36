// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs diff`: compares two containers, directories or files.
#include <fmt/core.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "core/base/text/human_size.h"
#include "core/io/urls/url.h"
#include "fs/commands/arguments.h"
#include "fs/commands/compare/diff_result.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

constexpr int kFailedCode = DiffTally::kFailedCode;

/// "f32 [2,3]"; empty for other entries than arrays.
std::string TypeText(const DiffEntry& entry) {
  if (!entry.is_array()) return {};
  return entry.dtype + " " + JsonLine(entry.shape);
}

/// The name of an entry; the operand itself has the path "".
std::string NameOf(const DiffEntry& entry) {
  return entry.path.empty() ? "(the file)" : entry.path;
}

/// At most four digits: "1e-10", "0.05".
std::string Digits(double value) { return fmt::format("{:.4g}", value); }

/// Prints the differences for people.
class DiffPrinter {
 public:
  void Print(const EntryDifference& one) const {
    switch (one.kind) {
      case DiffKind::kSame:
        return;
      case DiffKind::kAdded:
        Line(Colour::kGreen, '+', Described(*one.second));
        return;
      case DiffKind::kRemoved:
        Line(Colour::kRed, '-', Described(*one.first));
        return;
      case DiffKind::kRenamed:
        Line(Colour::kBlue, '>',
             NameOf(*one.first) + " -> " + NameOf(*one.second));
        return;
      case DiffKind::kFailed:
        Line(Colour::kRed, '!', NameOf(one.any()) + ": " + one.error->Text());
        return;
      case DiffKind::kChanged:
        Line(Colour::kYellow, '~', NameOf(*one.first) + "  " + Change(one));
        for (const std::string& key : one.keys) Below(key);
        PrintValues(one);
    }
  }

 private:
  void Line(Colour colour, char mark, const std::string& text) const {
    const std::string line = std::string(1, mark) + " " + ShownText(text);
    std::puts(terminal_.Paint(colour, line).c_str());
  }
  static void Below(const std::string& text) {
    std::printf("    %s\n", ShownText(text).c_str());
  }

  static std::string Described(const DiffEntry& entry) {
    std::string text = NameOf(entry) + "  ";
    if (entry.is_array()) text += TypeText(entry) + "  ";
    return text + HumanSize(entry.size);
  }

  static std::string Change(const EntryDifference& one) {
    if (one.type_changed) {
      const auto type = [](const DiffEntry& entry) {
        if (entry.file.link) return std::string("link");
        return entry.is_array() ? TypeText(entry) : std::string("file");
      };
      return type(*one.first) + " -> " + type(*one.second);
    }
    std::string text = one.first->is_array() ? TypeText(*one.first) + "  " : "";
    if (one.first->size != one.second->size) {
      text += HumanSize(one.first->size) + " -> " +
              HumanSize(one.second->size) + "  ";
    }
    if (one.offset) {
      return text + fmt::format("differs from byte {}", *one.offset);
    }
    return text +
           (one.first->file.link ? "target differs" : "checksum differs");
  }

  static void PrintValues(const EntryDifference& one) {
    if (one.no_values) Below("no values: " + *one.no_values);
    if (!one.values) return;
    const ValueDifference& values = *one.values;
    Below(
        fmt::format("{} of {} values differ; max {}, relative {}; mean {}; "
                    "cosine {:.6g}",
                    values.different, values.elements,
                    Digits(values.max_absolute), Digits(values.max_relative),
                    Digits(values.mean_absolute), values.cosine));
    if (values.unlike > 0) {
      Below(fmt::format("{} differ in NaN or infinity", values.unlike));
    }
    std::string bins;
    for (size_t i = 0; i < values.bins.size(); ++i) {
      if (values.bins[i] == 0) continue;
      const std::optional<double> end = BinEnd(i);
      bins += (bins.empty() ? "" : ", ") +
              (end ? "below " + Digits(*end) : std::string("more")) + ": " +
              std::to_string(values.bins[i]);
    }
    if (!bins.empty()) Below("differences " + bins);
  }

  const Terminal terminal_ = Terminal::Of(stdout);
};

void PrintTally(const DiffTally& tally) {
  for (size_t i = 0; i < kDiffKinds; ++i) {
    if (tally.entries[i] == 0) continue;
    std::printf("%-8s %10llu  %s\n", DiffKindName(static_cast<DiffKind>(i)),
                static_cast<unsigned long long>(tally.entries[i]),
                HumanSize(tally.bytes[i]).c_str());
  }
}

void PrintDiffJson(const Arguments& arguments, const DiffSide& first,
                   const DiffSide& second,
                   const std::vector<EntryDifference>& found,
                   const DiffTally& tally) {
  Json json = {{"first", WithoutQuery(arguments.operands.front())},
               {"second", WithoutQuery(arguments.operands.back())},
               {"formats", {first.format(), second.format()}},
               {"totals", TallyJson(tally)}};
  if (!arguments.stat) {
    json["entries"] = Json::array();
    for (const EntryDifference& one : found) {
      if (one.kind == DiffKind::kSame) continue;
      json["entries"].push_back(DifferenceJson(one));
    }
  }
  std::fputs(PrintableJson(FormatJson(json)).c_str(), stdout);
}

void PrintDiffText(const Arguments& arguments, const DiffSide& first,
                   const DiffSide& second,
                   const std::vector<EntryDifference>& found,
                   const DiffTally& tally) {
  if (first.format() != second.format()) {
    std::printf("format: %s -> %s\n",
                first.format().empty() ? "none" : first.format().c_str(),
                second.format().empty() ? "none" : second.format().c_str());
  }
  if (arguments.stat) {
    PrintTally(tally);
    return;
  }
  const DiffPrinter printer;
  for (const EntryDifference& one : found) printer.Print(one);
  std::puts(tally.Text().c_str());
}

int RunDiff(const Arguments& arguments) {
  DiffSide first(arguments);
  DiffSide second(arguments);
  const std::optional<DiffResult> result =
      DiffResult::Of(arguments, first, second);
  if (!result) return kFailedCode;
  (arguments.json ? &PrintDiffJson : &PrintDiffText)(
      arguments, first, second, result->found, result->tally);
  return result->tally.ExitCode();
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
