// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs info`: shows the format, contents and faults of a container.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "core/container/cut_file.h"
#include "core/container/unreadable.h"
#include "core/report/container_summary.h"
#include "core/report/identity.h"
#include "core/vfs/source_tree.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/text.h"
#include "fs/commands/verify/global_lines.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Escapes everything but plain ASCII as \xNN.
std::string EscapedForShell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    escaped += plain ? std::string(1, c) : "\\x" + Hex({&c, 1});
  }
  return escaped;
}

/// Returns `text` as a word for a shell, quoted if necessary.
std::string ShellWord(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "/._+@%=:,-";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  // In bash and zsh, $'...' undoes escapes.
  if (ShownText(text) != text) return "$'" + EscapedForShell(text) + "'";
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

/// "crc32c of 20 entries, 4 without".
std::string ChecksumsText(const ContainerSummary& summary) {
  std::string text;
  uint64_t without = 0;
  for (const auto& [algorithm, count] : summary.checksums) {
    if (algorithm == "none") {
      without = count;
      continue;
    }
    text += (text.empty() ? "" : ", ") + algorithm + " of " + Grouped(count) +
            " " + NounOf(count, "entry");
  }
  if (text.empty()) return "none";
  return without == 0 ? text : text + ", " + Grouped(without) + " without";
}

std::string CodecsText(const ContainerSummary& summary) {
  std::string text;
  for (const auto& [codec, count] : summary.codecs) {
    text += (text.empty() ? "" : ", ") + codec + " (" + Grouped(count) + ")";
  }
  return text;
}

/// Prints the description of one container for people.
class Page {
 public:
  /// `all`: print every warning, not only the first ones.
  Page(const std::string& path, const Container& container, const Json& info,
       const Identity& identity, const ContainerSummary& summary, bool all)
      : path_(path),
        cut_(CutOf(container)),
        info_(info),
        identity_(identity),
        summary_(summary),
        all_(all) {}

  void Print() const {
    std::puts(terminal_.Paint(Colour::kBold, ShownName(path_)).c_str());
    if (cut_) {
      std::printf("  %s\n",
                  terminal_.Paint(Colour::kRed, cut_->Text()).c_str());
    }
    PrintFormat();
    PrintFacts();
    PrintShortTexts();
    PrintCounts();
    Line("unlisted",
         "views/ and .ctxfs/, which open by name in a mount "
         "(-o list=all lists them)");
    PrintDtypes();
    PrintLargest();
    PrintGlobals();
    PrintWarnings();
    PrintNext();
  }

 private:
  /// Width of the column of names: the longest key of a fact, up to a limit.
  static size_t WidthFor(const Identity& identity) {
    constexpr size_t kLeast = 13;
    constexpr size_t kMax = 28;
    size_t width = kLeast;
    for (const Fact& fact : identity.facts.all()) {
      width = std::max(width, std::min(ShownText(fact.key).size(), kMax));
    }
    return width;
  }

  void Line(const std::string& name, const std::string& value) const {
    std::printf("  %-*s %s\n", static_cast<int>(width_), name.c_str(),
                ShownText(value).c_str());
  }

  void PrintFormat() const {
    std::string format = info_.value("format", "unknown");
    if (const auto version = info_.find("version");
        version != info_.end() && version->is_primitive()) {
      format +=
          " version " + (version->is_string() ? version->get<std::string>()
                                              : JsonLine(*version));
    }
    Line("format", format);
  }

  void PrintFacts() const {
    for (const Fact& fact : identity_.facts.all()) {
      // PrintCounts and PrintGlobals print these.
      if (fact.key == "parameters" || fact.key.starts_with("global.")) continue;
      PrintFact(fact);
    }
    for (const std::string& note : identity_.Notes()) Line("", note);
  }

  /// Prints the first lines of a text.
  void PrintFact(const Fact& fact) const {
    constexpr int kMaxLines = 8;
    const std::string text = FactText(fact);
    std::string key = fact.key;
    size_t at = 0;
    for (int line = 0; line < kMaxLines && at <= text.size(); ++line) {
      const size_t end = std::min(text.find('\n', at), text.size());
      Line(ShownText(key), text.substr(at, end - at));
      key.clear();
      at = end + 1;
    }
    if (at <= text.size()) Line("", "\xE2\x80\xA6");
  }

  /// Whether a fact has this text: a profile may repeat a role's name.
  bool IsFact(const std::string& text) const {
    return std::ranges::any_of(
        identity_.facts.all(),
        [&text](const Fact& fact) { return fact.value == text; });
  }

  /// Prints the other short texts of info.json.
  void PrintShortTexts() const {
    constexpr size_t kShort = 80;
    for (const auto& [key, value] : info_.items()) {
      if (key == "format" || key == "version" || !value.is_string()) continue;
      std::string name = key;
      for (char& c : name) c = c == '_' ? ' ' : c;
      const auto text = value.get<std::string>();
      if (!text.empty() && text.size() <= kShort && !IsFact(text)) {
        Line(name, text);
      }
    }
  }

  void PrintCounts() const {
    const auto size = info_.find("container_size");
    const uint64_t bytes = size != info_.end() && size->is_number_unsigned()
                               ? size->get<uint64_t>()
                               : summary_.stored_bytes;
    Line("size",
         HumanSize(bytes) + ", decoded " + HumanSize(summary_.decoded_bytes));
    PrintPacked();
    Line("entries", Grouped(summary_.entries));
    if (summary_.arrays != 0) {
      Line(summary_.all_tensors ? "parameters" : "elements",
           Counted(summary_.elements) + " in " + Grouped(summary_.arrays) +
               " " + NounOf(summary_.arrays, "array"));
    }
    if (summary_.entries != 0) {
      Line("codecs", CodecsText(summary_));
      Line("checksums", ChecksumsText(summary_));
    }
  }

  /// Prints the compression of the whole file.
  void PrintPacked() const {
    const auto packed = info_.find("packed");
    if (packed == info_.end()) return;
    Line("compression",
         packed->value("compression", "") + ", " +
             HumanSize(packed->value("size", uint64_t{0})) +
             (packed->value("verified", false) ? ", verified"
                                               : ", without checksums"));
  }

  void PrintDtypes() const {
    if (summary_.dtypes.empty()) return;
    TextTable table({"dtype", "arrays", "elements", "decoded"}, {1, 2, 3});
    for (const auto& [dtype, count] : summary_.dtypes) {
      table.Add({dtype, Grouped(count.arrays), Grouped(count.elements),
                 HumanSize(count.bytes)});
    }
    std::printf("\n%s", table.Aligned(terminal_, "  ").c_str());
  }

  void PrintLargest() const {
    if (summary_.largest.empty()) return;
    TextTable table({"largest", "dtype", "shape", "name"}, {0});
    for (const ContainerSummary::Array& one : summary_.largest) {
      table.Add({HumanSize(one.bytes), one.dtype, JsonLine(one.shape),
                 ShownName(one.name)});
    }
    std::printf("\n%s", table.Aligned(terminal_, "  ").c_str());
  }

  /// Prints the functions and classes that other software would import to load
  /// the file, unsafe ones first.
  void PrintGlobals() const {
    constexpr size_t kMaxLines = 20;
    const GlobalLines globals =
        GlobalsOf(info_, kMaxLines, /*unsafe_only=*/false);
    if (globals.shown.empty()) return;
    TextTable table({"", "global"}, {});
    for (const auto& [name, safe] : globals.shown) {
      table.Add({safe ? "safe" : "UNSAFE", ShownText(name)});
    }
    std::printf("\n%s", table.Aligned(terminal_, "  ").c_str());
    if (globals.more > 0) {
      std::printf("  and %s more: ctxfs info --json %s\n",
                  Grouped(globals.more).c_str(), ShellWord(path_).c_str());
    }
  }

  void PrintWarning(const Json& text) const {
    std::printf("  %s %s\n",
                terminal_.Paint(Colour::kYellow, "warning:").c_str(),
                ShownText(text.get<std::string>()).c_str());
  }

  void PrintWarnings() const {
    constexpr size_t kMaxPrinted = 10;
    if (info_.contains("incomplete")) PrintWarning(info_["incomplete"]);
    const Json warnings = info_.value("warnings", Json::array());
    const size_t most = all_ ? warnings.size() : kMaxPrinted;
    for (size_t i = 0; i < std::min(warnings.size(), most); ++i) {
      PrintWarning(warnings[i]);
    }
    if (warnings.size() <= most) return;
    std::printf("  and %s more: --all\n",
                Grouped(warnings.size() - most).c_str());
  }

  void PrintNext() const {
    const std::string word = ShellWord(path_);
    std::printf(
        "\n  %s\n    ctxfs ls -l %s\n    ctxfs check %s\n    ctxfs report %s\n"
        "    ctxfs mount %s\n",
        terminal_.Paint(Colour::kBold, "next").c_str(), word.c_str(),
        word.c_str(), word.c_str(), word.c_str());
  }

  const std::string& path_;
  const std::optional<CutFile> cut_;
  const Json& info_;
  const Identity& identity_;
  const ContainerSummary& summary_;
  const bool all_;
  const size_t width_ = WidthFor(identity_);
  const Terminal terminal_ = Terminal::Of(stdout);
};

/// Escapes a field: a backslash before a letter or another backslash.
std::string RawField(const std::string& text) {
  return Printable(Escaped(text, "\n\t"));
}

/// Prints path, key and value separated by tabs, for cut(1) and awk(1).
void PrintRaw(const std::string& path, const Json& info,
              const Identity& identity, const ContainerSummary& summary) {
  const auto line = [&path](const std::string& key, const std::string& value) {
    std::printf("%s\t%s\t%s\n", RawField(path).c_str(), key.c_str(),
                RawField(value).c_str());
  };
  for (const Fact& fact : identity.facts.all()) {
    line("fact." + RawField(fact.key), fact.value.is_string()
                                           ? fact.value.get<std::string>()
                                           : JsonLine(fact.value));
  }
  for (const auto& [key, value] : info.items()) {
    line(RawField(key),
         value.is_string() ? value.get<std::string>() : JsonLine(value));
  }
  line("arrays", std::to_string(summary.arrays));
  line("elements", std::to_string(summary.elements));
  for (const auto& [dtype, count] : summary.dtypes) {
    line("arrays." + dtype, std::to_string(count.arrays));
    line("elements." + dtype, std::to_string(count.elements));
    line("bytes." + dtype, std::to_string(count.bytes));
  }
  for (const auto& [codec, count] : summary.codecs) {
    line("codec." + codec, std::to_string(count));
  }
  for (const auto& [algorithm, count] : summary.checksums) {
    line("checksum." + algorithm, std::to_string(count));
  }
}

/// Describes the containers of all sources.
class Descriptions {
 public:
  explicit Descriptions(const Arguments& arguments)
      : arguments_(arguments), search_(arguments.operands, arguments.open) {}

  /// Returns the exit code of the last error.
  ExitCode Print() {
    while (const std::optional<FoundContainer> found = search_.Next()) {
      Describe(*found);
    }
    for (const std::string& source : search_.Empty()) {
      last_ = PrintError(source, NoContainerIn(source));
    }
    if (arguments_.json) {
      std::fputs(PrintableJson(FormatJson(all_)).c_str(), stdout);
    } else if (search_.searched() && !arguments_.raw &&
               described_ + failed_ > 0) {
      PrintTotals();
    }
    return last_;
  }

 private:
  void Describe(const FoundContainer& found) {
    const Result<std::shared_ptr<const Container>> container =
        ContainerOf(found, arguments_.open);
    if (!container) return Fail(found.path, container.error());
    Describe(found.shown(), **container);
  }

  void Fail(const std::string& path, const Error& error) {
    ++failed_;
    last_ = PrintError(path, error);
  }

  void Describe(const std::string& shown, const Container& container) {
    ++described_;
    LoneContext context;
    Json info = container.Info(context);
    const Identity identity = Identity::Of(container, context);
    if (arguments_.json) {
      info["facts"] = identity.FactsJson();
      info["facts_left_out"] = identity.facts.left_out();
      if (identity.error) info["facts_error"] = identity.error->Text();
      info["source"] = shown;
      all_.push_back(std::move(info));
      return;
    }
    const ContainerSummary summary = ContainerSummary::Of(container);
    if (arguments_.raw) {
      PrintRaw(shown, info, identity, summary);
      return;
    }
    if (described_ > 1) std::puts("");
    Page(shown, container, info, identity, summary, arguments_.all).Print();
  }

  void PrintTotals() const {
    std::string text =
        "\n" + Grouped(described_) + " " + NounOf(described_, "container");
    if (failed_ > 0) {
      text += ", " + Grouped(failed_) + " could not be opened";
    }
    const uint64_t others = search_.others();
    text += ", " + Grouped(others) + " " + NounOf(others, "other file");
    std::puts(text.c_str());
  }

  const Arguments& arguments_;
  ContainerSearch search_;
  uint64_t described_ = 0;
  uint64_t failed_ = 0;
  ExitCode last_ = ExitCode::kOk;
  Json all_ = Json::array();
};

int RunInfo(const Arguments& arguments) {
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kRefused);
  return static_cast<int>(Descriptions(arguments).Print());
}

}  // namespace

const Command kInfoCommand{
    .name = "info",
    .operands = "SOURCE[//PATH]...",
    .summary = "Describes containers: format, sizes, arrays and warnings",
    .run = &RunInfo,
    .options = "AJWSKIN",
    .examples =
        "  ctxfs info model.mosh\n"
        "  ctxfs info --json ~/models | jq '.[].format'\n",
    .kind = OperandKind::kPath,
    .min_operands = 1};

}  // namespace ctxfs
