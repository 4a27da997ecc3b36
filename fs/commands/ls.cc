// SPDX-License-Identifier: Apache-2.0
//
// ctxfs ls: lists names, and on request what the index says of the files.
#include <cstdio>

#include "core/registry/views.h"
#include "core/base/text.h"
#include "core/tree/index_json.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/source_tree.h"
#include "fs/commands/text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

class Lister {
 public:
  Lister(SourceTree& tree, const Arguments& arguments)
      : tree_(tree), arguments_(arguments) {}

  Status List(const SourceTree::File& file) {
    if (!file.directory) return Show(file);
    const auto visit = [this](const SourceTree::File& child) {
      if (Status shown = Show(child); !shown) return shown;
      if (!child.directory || !arguments_.recursive) return Status();
      return List(child);
    };
    return tree_.ForEach(file, visit);
  }

  /// Prints the lines that were held back to align them on a terminal.
  void Flush() {
    if (!table_.empty()) {
      std::fputs(table_.Aligned(terminal_, "").c_str(), stdout);
      table_ = Header();
    }
    std::fputs(InColumns(names_, terminal_.width(), terminal_).c_str(), stdout);
    names_.clear();
    held_ = 0;
  }

  /// False if the size of a file is unknown.
  bool complete() const { return complete_; }

 private:
  Status Show(const SourceTree::File& file) {
    ++shown_;
    if (arguments_.json) return ShowJson(file);
    const std::string name =
        ShownName(arguments_.recursive ? file.path : file.name()) +
        (file.directory ? "/" : "");
    if (!terminal_.is_terminal() ||
        (arguments_.recursive && !arguments_.details)) {
      if (arguments_.details) PrintDetails(Details(file));
      const Colour colour = file.directory ? Colour::kBlue : Colour::kNone;
      std::puts(terminal_.Paint(colour, name).c_str());
      return {};
    }
    if (arguments_.details) {
      std::vector<std::string> row = Details(file);
      row.push_back(name);
      table_.Add(std::move(row));
    } else {
      names_.push_back(name);
    }
    if (++held_ == kMostHeld) Flush();
    return {};
  }

  /// Describes a file. Its size may have to be measured by decoding it.
  EntryInfo InfoOf(const SourceTree::File& file) {
    EntryInfo info;
    if (Result<std::optional<EntryInfo>> known = tree_.Describe(file);
        known && *known) {
      info = std::move(**known);
    }
    const Result<uint64_t> size = tree_.Size(file);
    if (size) info.size = *size;
    if (!size) {
      info.note = size.error().Text();
      complete_ = false;
    }
    return info;
  }

  /// dtype, shape, size, codec and checksum.
  std::vector<std::string> Details(const SourceTree::File& file) {
    if (file.directory) return {"-", "-", "-", "-", "-"};
    const EntryInfo info = InfoOf(file);
    const auto or_dash = [](const std::string& text) {
      return text.empty() ? "-" : text;
    };
    return {or_dash(info.dtype), info.shape ? JsonLine(*info.shape) : "-",
            terminal_.is_terminal() ? HumanSize(info.size)
                                    : std::to_string(info.size),
            or_dash(info.codec), or_dash(info.checksum)};
  }

  static void PrintDetails(const std::vector<std::string>& row) {
    std::printf("%-5s %-16s %12s %-11s %-17s ", row[0].c_str(), row[1].c_str(),
                row[2].c_str(), row[3].c_str(), row[4].c_str());
  }

  static TextTable Header() {
    return {{"dtype", "shape", "size", "codec", "checksum", "name"}, {2}};
  }

  Status ShowJson(const SourceTree::File& file) {
    Json object;
    if (file.directory) {
      object = {{"path", file.path}, {"kind", "directory"}};
    } else {
      object = EntryJson(InfoOf(file), file.path);
    }
    std::printf("%s%s", shown_ == 1 ? "\n" : ",\n", JsonLine(object).c_str());
    return {};
  }

  // At most so many lines are aligned together; a directory may have millions.
  static constexpr size_t kMostHeld = 5000;

  SourceTree& tree_;
  const Arguments& arguments_;
  const Terminal terminal_ = Terminal::Of(stdout);
  TextTable table_ = Header();
  std::vector<std::string> names_;
  size_t held_ = 0;
  bool complete_ = true;
  uint64_t shown_ = 0;
};

/// Returns kOk, or the code of an error that it has printed.
ExitCode ListOne(const std::string& operand, const Arguments& arguments) {
  const Target target = ParseTarget(operand);
  Result<std::unique_ptr<SourceTree>> tree = SourceTree::Open(
      target.source, arguments.open, arguments.views.value_or(AllViews()),
      arguments.list_mode());
  if (!tree) return PrintError(target.source, tree.error());
  Lister lister(**tree, arguments);
  const Result<SourceTree::File> top = (*tree)->Find(target.path);
  const Status listed = top ? lister.List(*top) : Status(top.error());
  lister.Flush();
  if (!listed) return PrintError(operand, listed.error());
  return lister.complete() ? ExitCode::kOk : ExitCode::kDamaged;
}

int RunLs(const Arguments& arguments) {
  ConfineToReading(SourcesOf(arguments.operands));
  ExitCode last = ExitCode::kOk;  // of the last error
  for (const std::string& operand : arguments.operands) {
    if (arguments.json) std::fputs("[", stdout);
    if (!arguments.json && arguments.operands.size() > 1) {
      std::printf("%s:\n", operand.c_str());
    }
    const ExitCode code = ListOne(operand, arguments);
    if (code != ExitCode::kOk) last = code;
    if (arguments.json) std::fputs("\n]\n", stdout);
  }
  return static_cast<int>(last);
}

}  // namespace

const Command kLsCommand{.name = "ls",
                         .operands = "SOURCE[//PATH]...",
                         .summary = "Lists files in the order of the container",
                         .run = &RunLs,
                         .options = "alRJSVKI",
                         .examples =
                             "  ctxfs ls -l model.mcf//tensors\n"
                             "  ctxfs ls -R ~/models\n",
                         .kind = OperandKind::kPath,
                         .min_operands = 1};

}  // namespace ctxfs
