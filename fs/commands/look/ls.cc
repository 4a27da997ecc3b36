// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs ls`: lists names and, on request, the index's metadata of the files.
#include <cstdio>

#include "core/tree/index_json.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/text.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

class Lister {
 public:
  Lister(SourceTree& tree, const Arguments& arguments)
      : tree_(tree), arguments_(arguments) {}

  Status List(const SourceTree::File& file) {
    if (!file.directory) return Show(file);
    if (!arguments_.recursive && !arguments_.details && !arguments_.json) {
      return tree_.ForEach(
          file, [this](const SourceTree::File& child) { return Show(child); },
          nullptr, SourceTree::Children::kNamed);
    }
    const auto visit = [this](const SourceTree::File& child) -> Status {
      CTXFS_TRY(Show(child));
      if (!child.directory || !arguments_.recursive) return {};
      return List(child);
    };
    return tree_.ForEach(file, visit);
  }

  /// Prints the lines collected for alignment on a terminal.
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
    const std::string stored = arguments_.recursive ? file.path : file.name();
    const std::string slash = file.directory ? "/" : "";
    const bool in_lines = !terminal_.is_terminal() || arguments_.zero ||
                          (arguments_.recursive && !arguments_.details);
    if (in_lines && arguments_.details) PrintDetails(Details(file));
    if (arguments_.zero) {
      std::fwrite((stored + slash).c_str(), 1, stored.size() + slash.size() + 1,
                  stdout);
      return {};
    }
    const std::string name = ListedName(stored) + slash + TargetOf(file);
    if (in_lines) {
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
    if (++held_ == kMaxHeld) Flush();
    return {};
  }

  /// With details, the target of a link: " -> TARGET".
  std::string TargetOf(const SourceTree::File& file) {
    if (!file.link || !arguments_.details) return {};
    const Result<std::string> target = tree_.ReadLink(file);
    return target ? " -> " + ListedName(*target) : std::string();
  }

  /// Describes a file. May decode it to measure its size.
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
            SizeText(info.size), or_dash(info.codec), or_dash(info.checksum)};
  }

  std::string SizeText(uint64_t bytes) const {
    if (arguments_.human) return ShortSize(bytes);
    return terminal_.is_terminal() ? HumanSize(bytes) : std::to_string(bytes);
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
    std::printf("%s%s", shown_ == 1 ? "\n" : ",\n",
                PrintableJson(JsonLine(object)).c_str());
    return {};
  }

  // Maximum number of lines aligned together; a directory may have millions.
  static constexpr size_t kMaxHeld = 5000;

  SourceTree& tree_;
  const Arguments& arguments_;
  const Terminal terminal_ = Terminal::Of(stdout);
  TextTable table_ = Header();
  std::vector<std::string> names_;
  size_t held_ = 0;
  bool complete_ = true;
  uint64_t shown_ = 0;
};

/// Returns kOk, or the exit code of a printed error.
ExitCode ListOne(const std::string& operand, const Arguments& arguments) {
  const Target target = ParseTarget(operand);
  Result<std::unique_ptr<SourceTree>> tree = SourceTree::Open(
      target.source, arguments.open, arguments.views.value_or(AllViews()),
      arguments.list_mode());
  if (!tree) return PrintError(target.source, tree.error());
  Lister lister(**tree, arguments);
  // With details, describes a link itself, not its target.
  const bool follow = !arguments.details && !arguments.json;
  const Result<SourceTree::File> top = (*tree)->Find(target.path, follow);
  const Status listed = top ? lister.List(*top) : Status(top.error());
  lister.Flush();
  if (!listed) return PrintError(operand, listed.error());
  return lister.complete() ? ExitCode::kOk : ExitCode::kDamaged;
}

int RunLs(const Arguments& arguments) {
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kFollowed);
  ExitCode last = ExitCode::kOk;  // the last error's
  for (const std::string& operand : arguments.operands) {
    if (arguments.json) std::fputs("[", stdout);
    if (!arguments.json && arguments.operands.size() > 1) {
      std::printf("%s:\n", ShownName(operand).c_str());
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
                         .alias = "list",
                         .run = &RunLs,
                         .options = "0alHRJSVKIN",
                         .examples =
                             "  ctxfs ls -l model.mcf//tensors\n"
                             "  ctxfs ls -R ~/models\n"
                             "  ctxfs ls -lh model.gguf | sort -h -k 3\n"
                             "  ctxfs ls -0 data.tar | xargs -0 -n 1 echo\n",
                         .kind = OperandKind::kPath,
                         .min_operands = 1};

}  // namespace ctxfs
