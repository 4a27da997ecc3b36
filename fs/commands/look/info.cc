// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs info`: shows the format, contents and faults of a container.
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/text/count_of.h"
#include "core/base/text/text.h"
#include "core/io/urls/url.h"
#include "core/report/identity.h"
#include "core/vfs/source_tree.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/container_search.h"
#include "fs/commands/look/info_file.h"
#include "fs/commands/look/info_page.h"
#include "fs/commands/look/info_rows.h"
#include "fs/commands/text.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

/// Escapes a field: newlines, tabs and backslashes become "\n", "\t" and "\\".
std::string RawField(const std::string& text) {
  return Printable(Escaped(text, "\n\t"));
}

/// Prints path, key and value separated by tabs, for cut(1) and awk(1).
class RawLines {
 public:
  explicit RawLines(const std::string& path) : path_(RawField(path)) {}

  void Print(const std::string& key, const std::string& value) const {
    std::printf("%s\t%s\t%s\n", path_.c_str(), RawField(key).c_str(),
                RawField(value).c_str());
  }

  void Print(const std::string& key, const Json& value) const {
    Print(key, value.is_string() ? value.get<std::string>() : JsonLine(value));
  }

  void PrintMembers(const Json& object, const std::string& prefix = {}) const {
    for (const auto& [key, value] : object.items()) {
      Print(prefix + key, value);
    }
  }

 private:
  const std::string path_;
};

void PrintRaw(const std::string& path, const Json& file) {
  const RawLines lines(path);
  for (const auto& [key, value] : file.items()) {
    if (key == "statistics" && value.is_object()) {
      lines.PrintMembers(value, "statistics.");
    } else {
      lines.Print(key, value);
    }
  }
}

void PrintRaw(const ContainerDescription& one) {
  const RawLines lines(one.path);
  for (const Fact& fact : one.identity.facts.all()) {
    lines.Print("fact." + fact.key, fact.value);
  }
  lines.PrintMembers(one.info);
  const ContainerSummary& summary = one.summary;
  lines.Print("outcome", std::string(one.verdict.Name()));
  lines.Print("arrays", std::to_string(summary.arrays));
  lines.Print("elements", std::to_string(summary.elements));
  for (const auto& [dtype, count] : summary.dtypes) {
    lines.Print("arrays." + dtype, std::to_string(count.arrays));
    lines.Print("elements." + dtype, std::to_string(count.elements));
    lines.Print("bytes." + dtype, std::to_string(count.bytes));
  }
  for (const auto& [codec, count] : summary.codecs) {
    lines.Print("codec." + codec, std::to_string(count));
  }
  for (const auto& [algorithm, count] : summary.checksums) {
    lines.Print("checksum." + algorithm, std::to_string(count));
  }
  if (!one.layers) return;
  for (const SizeGroup& layer :
       one.layers->layers.Largest(LayerTables::kRows)) {
    lines.Print("layer." + layer.name, std::to_string(layer.bytes));
  }
}

/// Returns the members of info.json, together with the facts and the numbers
/// that the page shows.
Json InfoJson(const ContainerDescription& one) {
  Json info = one.info;
  const Identity& identity = one.identity;
  info["facts"] = identity.FactsJson();
  info["facts_left_out"] = identity.facts.left_out();
  if (identity.error) info["facts_error"] = identity.error->Text();
  info["source"] = one.path;
  info["summary"] = SummaryJson(one);
  return info;
}

/// Prints a JSON array, object by object: it may be longer than memory.
class JsonArray {
 public:
  void Add(const Json& object) {
    std::string text = FormatJson(Json::array({object}));
    // Keeps only the lines between the brackets.
    text = text.substr(1, text.size() - std::string_view("[\n]\n").size());
    std::fputs((first_ ? "[" : ","), stdout);
    std::fputs(PrintableJson(text).c_str(), stdout);
    first_ = false;
  }

  void End() const { std::fputs(first_ ? "[]\n" : "\n]\n", stdout); }

 private:
  bool first_ = true;
};

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
    rows_.Flush();
    for (const std::string& source : search_.Empty()) {
      last_ = PrintError(source, NoContainerIn(source));
    }
    if (arguments_.json) {
      json_.End();
    } else if ((search_.searched() || listed_) && !arguments_.raw &&
               rows_.count() + failed_ > 0) {
      PrintTotals();
    }
    return last_;
  }

 private:
  void Describe(const FoundContainer& found) {
    const Result<std::shared_ptr<const Container>> container =
        ContainerOf(found, arguments_.open);
    if (container) return Describe(found, *container);
    if (!found.no_container || !DescribeFile(found.path)) {
      Fail(found.shown(), container.error());
    }
  }

  void Fail(const std::string& path, const Error& error) {
    ++failed_;
    last_ = PrintError(path, error);
  }

  /// Describes a file of a container. Returns false if `operand` is no such
  /// file.
  bool DescribeFile(const std::string& operand) {
    const Result<FileDescription> file =
        FileDescription::Of(operand, arguments_.open, spill_file_);
    if (!file && (file.error().code == Code::kNotContainer ||
                  file.error().code == Code::kNotFound)) {
      return false;
    }
    if (!file) {
      Fail(operand, file.error());
    } else if (arguments_.json) {
      json_.Add(file->AsJson());
    } else if (arguments_.raw) {
      PrintRaw(WithoutQuery(operand), file->AsJson());
    } else {
      BeginPage();
      file->Print();
    }
    return true;
  }

  void Describe(const FoundContainer& found,
                const std::shared_ptr<const Container>& container) {
    const bool in_full = found.named || arguments_.details ||
                         arguments_.layers || arguments_.json || arguments_.raw;
    if (!in_full) return List(found, *container);
    const ContainerDescription one =
        ContainerDescription::Of(found.shown(), container, arguments_.layers);
    rows_.Count(*container, one.summary);
    if (arguments_.json) {
      json_.Add(InfoJson(one));
    } else if (arguments_.raw) {
      PrintRaw(one);
    } else {
      BeginPage();
      PrintInfoPage(one, arguments_.all);
    }
  }

  /// Prints the line of a container of a directory.
  void List(const FoundContainer& found, const Container& container) {
    listed_ = true;
    const std::string top = WithoutQuery(arguments_.operands[found.source]);
    rows_.Start(top);
    rows_.Add(NameBelow(top, found.shown()), container);
  }

  /// `path` without its beginning `top` and the slashes after that.
  static std::string NameBelow(const std::string& top,
                               const std::string& path) {
    if (!path.starts_with(top)) return path;
    const size_t at = path.find_first_not_of('/', top.size());
    return at == std::string::npos ? path : path.substr(at);
  }

  void BeginPage() {
    rows_.Flush();
    rows_.Separate();
  }

  void PrintTotals() const {
    std::string text = "\n" + rows_.Totals();
    if (failed_ > 0) {
      text += ", " + Grouped(failed_) + " could not be opened";
    }
    const uint64_t others = search_.others();
    text += ", " + Grouped(others) + " " + NounOf(others, "other file");
    std::puts(text.c_str());
  }

  const Arguments& arguments_;
  const std::shared_ptr<SpillFile> spill_file_ = OpenSpillFile();
  ContainerSearch search_;
  InfoRows rows_;
  JsonArray json_;
  uint64_t failed_ = 0;
  bool listed_ = false;  // whether a directory's containers have lines
  ExitCode last_ = ExitCode::kOk;
};

int RunInfo(const Arguments& arguments) {
  Descriptions descriptions(arguments);  // creates a spill file
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kRefused);
  return static_cast<int>(descriptions.Print());
}

}  // namespace

const Command kInfoCommand{
    .name = "info",
    .operands = "SOURCE[//PATH]...",
    .summary = "Describes containers: format, sizes, arrays and warnings",
    .run = &RunInfo,
    .options = "AgyJWSKIN",
    .examples =
        "  ctxfs info model.mosh\n"
        "  ctxfs info --layers model.safetensors\n"
        "  ctxfs info model.mcf//tensors/embed\n"
        "  ctxfs info --json ~/models | jq '.[].format'\n",
    .kind = OperandKind::kPath,
    .min_operands = 1};

}  // namespace ctxfs
