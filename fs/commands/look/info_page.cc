// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/look/info_page.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "fs/commands/look/info_rows.h"
#include "fs/commands/text.h"
#include "fs/commands/verify/global_lines.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Escapes quotes, backslashes and everything but printable ASCII as \xNN.
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

/// Returns the numbers of entries with and without checksums, such as "crc32c
/// of 20 entries, 4 without".
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
  Page(const ContainerDescription& one, bool all)
      : path_(one.path),
        stored_size_(one.container->StoredSize()),
        info_(one.info),
        identity_(one.identity),
        summary_(one.summary),
        verdict_(one.verdict),
        layers_(one.layers),
        all_(all) {}

  void Print() const {
    std::puts(terminal_.Paint(Colour::kBold, ShownName(path_)).c_str());
    PrintHead();
    PrintFacts();
    PrintShortTexts();
    PrintCounts();
    Line("unlisted",
         "views/ and .ctxfs/, which open by name in a mount "
         "(-o list=all lists them)");
    PrintDtypes();
    PrintLayers();
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

  /// Prints what the container is, and its state. A bad state comes first.
  void PrintHead() const {
    const bool complete = verdict_.outcome == IndexVerdict::Outcome::kComplete;
    if (!complete) {
      std::printf("  %s\n",
                  terminal_.Paint(ColourOf(verdict_), verdict_.text).c_str());
    }
    PrintFormat();
    for (const Fact& fact : identity_.facts.all()) {
      if (IsOfHead(fact.key)) PrintFact(fact);
    }
    PrintArrays();
    PrintSize();
    if (complete) Line("verdict", CompleteText());
  }

  static bool IsOfHead(std::string_view key) {
    return key == "name" || key == "architecture";
  }

  /// The verdict on a container that has everything that its index names.
  std::string CompleteText() const {
    if (const auto packed = info_.find("packed");
        packed != info_.end() && packed->value("verified", false)) {
      return "complete; verified by " + packed->value("compression", "");
    }
    const bool checks = std::ranges::any_of(
        summary_.checksums,
        [](const auto& one) { return one.first != "none"; });
    return checks ? "complete; ctxfs check verifies its checksums"
                  : "complete; it has no checksums";
  }

  void PrintArrays() const {
    if (summary_.arrays == 0) return;
    Line(summary_.all_tensors ? "parameters" : "elements",
         Counted(summary_.elements) + " in " + Grouped(summary_.arrays) + " " +
             NounOf(summary_.arrays, "array"));
    Line("dtypes", DtypesText(summary_, /*most=*/8));
  }

  void PrintSize() const {
    // Shows the greater of two sizes: a model may have further files, and a
    // compressed file is larger when it is decompressed.
    const uint64_t own =
        CountAt(info_, "container_size").value_or(summary_.stored_bytes);
    Line("size", HumanSize(std::max(own, stored_size_)) + ", decoded " +
                     HumanSize(summary_.decoded_bytes));
    PrintPacked();
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
      // Other functions print these facts: PrintHead, PrintArrays, PrintDtypes
      // and PrintGlobals.
      if (IsOfHead(fact.key) || fact.key == "parameters" ||
          fact.key.starts_with("parameters.") ||
          fact.key.starts_with("global.")) {
        continue;
      }
      PrintFact(fact);
    }
    for (const std::string& note : identity_.Notes()) Line("", note);
  }

  /// Prints the first lines of a fact's text.
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

  /// Whether a fact already shows this text. The fact "profile" of a Shard
  /// container, for instance, is the "role_name" of info.json.
  bool IsFact(const std::string& text) const {
    return std::ranges::any_of(
        identity_.facts.all(),
        [&text](const Fact& fact) { return fact.value == text; });
  }

  /// Prints the short texts of info.json that no other line of the page shows.
  void PrintShortTexts() const {
    constexpr size_t kShort = 80;
    for (const auto& [key, value] : info_.items()) {
      if (key == "format" || key == "version" || key == "incomplete" ||
          !value.is_string()) {
        continue;
      }
      std::string name = key;
      for (char& c : name) c = c == '_' ? ' ' : c;
      const auto text = value.get<std::string>();
      if (!text.empty() && text.size() <= kShort && !IsFact(text)) {
        Line(name, text);
      }
    }
  }

  void PrintCounts() const {
    Line("entries", Grouped(summary_.entries));
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
      table.Add({ShownText(dtype), Grouped(count.arrays),
                 Grouped(count.elements), HumanSize(count.bytes)});
    }
    std::printf("\n%s", table.Aligned(terminal_, "  ").c_str());
  }

  void PrintLayers() const {
    if (!layers_) return;
    PrintGroups("layer", layers_->layers);
    PrintGroups("module", layers_->modules);
  }

  void PrintGroups(const char* kind, const SizeGroups& groups) const {
    TextTable table({"decoded", "elements", "entries", kind}, {0, 1, 2});
    for (const SizeGroup& one : groups.Largest(LayerTables::kRows)) {
      table.Add({HumanSize(one.bytes), Grouped(one.elements),
                 Grouped(one.entries), ShownName(one.name)});
    }
    if (table.empty()) return;
    std::printf("\n%s", table.Aligned(terminal_, "  ").c_str());
  }

  void PrintLargest() const {
    if (summary_.largest.empty()) return;
    TextTable table({"largest", "dtype", "shape", "name"}, {0});
    for (const ContainerSummary::Array& one : summary_.largest) {
      table.Add({HumanSize(one.bytes), ShownText(one.dtype),
                 JsonLine(one.shape), ShownName(one.name)});
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
  const uint64_t stored_size_;
  const Json& info_;
  const Identity& identity_;
  const ContainerSummary& summary_;
  const IndexVerdict& verdict_;
  const std::optional<LayerTables>& layers_;
  const bool all_;
  const size_t width_ = WidthFor(identity_);
  const Terminal terminal_ = Terminal::Of(stdout);
};

Json GroupsJson(const SizeGroups& groups) {
  Json all = Json::array();
  for (const SizeGroup& one : groups.Largest(LayerTables::kRows)) {
    all.push_back({{"name", one.name},
                   {"entries", one.entries},
                   {"elements", one.elements},
                   {"size", one.bytes}});
  }
  return all;
}

Json DtypesJson(const ContainerSummary& summary) {
  Json all = Json::array();
  for (const auto& [dtype, count] : summary.dtypes) {
    all.push_back({{"dtype", dtype},
                   {"arrays", count.arrays},
                   {"elements", count.elements},
                   {"size", count.bytes}});
  }
  return all;
}

Json LargestJson(const ContainerSummary& summary) {
  Json all = Json::array();
  for (const ContainerSummary::Array& one : summary.largest) {
    all.push_back({{"name", one.name},
                   {"dtype", one.dtype},
                   {"shape", one.shape},
                   {"size", one.bytes}});
  }
  return all;
}

}  // namespace

LayerTables LayerTables::Of(const Container& container) {
  LayerTables tables;
  const std::shared_ptr<const FileTable> entries = container.Entries();
  for (uint32_t i = 0; i < entries->count(); ++i) {
    const EntryInfo info =
        entries->Describe(i, LoneContext()).value_or(EntryInfo{});
    const bool array = !info.dtype.empty() && info.shape;
    const uint64_t elements = array ? ElementsOf(*info.shape) : 0;
    const std::string name = info.name.value_or("");
    tables.layers.Add(LayerOf(name), info.size, elements);
    tables.modules.Add(ModuleOf(name), info.size, elements);
  }
  return tables;
}

ContainerDescription ContainerDescription::Of(
    std::string path, std::shared_ptr<const Container> container, bool layers) {
  LoneContext context;
  ContainerDescription one{.path = std::move(path),
                           .container = container,
                           .info = container->Info(context),
                           .identity = Identity::Of(*container, context),
                           .summary = ContainerSummary::Of(*container),
                           .verdict = {}};
  one.verdict = IndexVerdict::Of(*container, one.info);
  if (layers) one.layers = LayerTables::Of(*container);
  return one;
}

void PrintInfoPage(const ContainerDescription& one, bool all) {
  Page(one, all).Print();
}

Json SummaryJson(const ContainerDescription& one) {
  const ContainerSummary& summary = one.summary;
  const bool tensors = summary.all_tensors && summary.arrays > 0;
  Json json = {{"outcome", one.verdict.Name()},
               {"verdict", one.verdict.text},
               {"stored_size", one.container->StoredSize()},
               {"decoded_size", summary.decoded_bytes},
               {"entries", summary.entries},
               {"arrays", summary.arrays},
               {"elements", summary.elements},
               {"parameters", tensors ? Json(summary.elements) : Json()},
               {"dtypes", DtypesJson(summary)},
               {"codecs", summary.codecs},
               {"checksums", summary.checksums},
               {"largest", LargestJson(summary)}};
  if (one.layers) {
    json["layers"] = GroupsJson(one.layers->layers);
    json["modules"] = GroupsJson(one.layers->modules);
  }
  return json;
}

}  // namespace ctxfs
