// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs ls`: lists names and, on request, the index's metadata of the files.
#include <array>
#include <cstdio>
#include <ctime>

#include "core/base/bytes.h"
#include "core/base/text/count_of.h"
#include "core/container/unreadable.h"
#include "core/tree/index_json.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/named_files.h"
#include "fs/commands/text.h"
#include "fs/common/shown_text.h"
#include "fs/common/terminal.h"

namespace ctxfs {
namespace {

/// Shown in place of the format of a container that does not open.
constexpr const char* kUnreadable = "unreadable";

class Lister {
 public:
  Lister(SourceTree& tree, const Arguments& arguments)
      : tree_(tree), arguments_(arguments) {}

  /// Lists a file, or the files in a directory.
  Status List(const SourceTree::File& file) {
    if (!file.directory) return Show(file);
    totals_ = true;
    if (!arguments_.recursive && !arguments_.details && !arguments_.json) {
      return ForEachSorted(
          tree_, file,
          [this](const SourceTree::File& child) { return Show(child); },
          nullptr, SourceTree::Children::kNamed);
    }
    return ForEachSorted(tree_, file, [this](const SourceTree::File& child) {
      return ShowAndDescend(child);
    });
  }

  /// Lists a file that matches a pattern, by its path.
  Status ListMatch(const SourceTree::File& file) {
    totals_ = by_path_ = true;
    return ShowAndDescend(file);
  }

  /// With details on a terminal, adds a line with the totals of what was
  /// listed. In a pipe, each line is a file.
  void AddTotals() {
    if (!totals_ || !arguments_.details || !in_table()) return;
    std::string count = CountOf(files_, "file");
    if (shown_ > files_) count += ", " + CountOf(shown_ - files_, "directory");
    AddRow({"total", "", SizeText(bytes_), "", "", "", count});
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
  /// Whether details are aligned for people.
  bool in_table() const { return terminal_.is_terminal() && !arguments_.zero; }

  Status ShowAndDescend(const SourceTree::File& file) {
    CTXFS_TRY(Show(file));
    return file.directory && arguments_.recursive ? List(file) : Status();
  }

  Status Show(const SourceTree::File& file) {
    ++shown_;
    files_ += file.directory ? 0U : 1U;
    if (arguments_.json) return ShowJson(file);
    const bool path = arguments_.recursive || by_path_;
    const std::string slash = file.directory ? "/" : "";
    const std::string stored = (path ? file.path : file.name()) + slash;
    const std::string name = arguments_.zero
                                 ? stored
                                 : ListedName(path ? file.path : file.name()) +
                                       slash + TargetOf(file);
    if (arguments_.details) {
      std::vector<std::string> row = Details(file);
      row.push_back(name);
      AddRow(std::move(row), file.directory);
    } else if (arguments_.zero || !terminal_.is_terminal() ||
               arguments_.recursive) {
      PrintName(name, file.directory);
    } else {
      names_.push_back(name);
      if (++held_ == kMaxHeld) Flush();
    }
    return {};
  }

  void PrintName(const std::string& name, bool directory) const {
    if (arguments_.zero) {
      std::fwrite(name.c_str(), 1, name.size() + 1, stdout);
      return;
    }
    const Colour colour = directory ? Colour::kBlue : Colour::kNone;
    std::puts(terminal_.Paint(colour, name).c_str());
  }

  /// Prints a row in a pipe. On a terminal, holds it for alignment.
  void AddRow(std::vector<std::string> row, bool directory = false) {
    if (!in_table()) {
      PrintDetails(row);
      return PrintName(row.back(), directory);
    }
    table_.Add(std::move(row));
    if (++held_ == kMaxHeld) Flush();
  }

  /// Returns " -> TARGET" for a link if details are shown, else an empty text.
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
    const Result<Attributes> attributes = tree_.Examine(file);
    if (attributes) {
      info.size = attributes->size;
      time_ = attributes->mtime;
    } else {
      info.note = attributes.error().Text();
      complete_ = false;
    }
    return info;
  }

  /// Type, shape, size, codec, checksum and time. The type is the dtype of an
  /// array, or the format of a container.
  std::vector<std::string> Details(const SourceTree::File& file) {
    time_ = {};
    if (file.directory) return DirectoryDetails(file);
    const EntryInfo info = InfoOf(file);
    bytes_ = CheckedAdd(bytes_, info.size).value_or(UINT64_MAX);
    std::string type = info.dtype;
    if (type.empty() && !file.link && tree_.IsMirrored(file)) {
      type = FormatOf(tree_.ContainerOf(file));
    }
    const auto or_dash = [](const std::string& text) {
      return text.empty() ? "-" : text;
    };
    return {or_dash(type),          info.shape ? JsonLine(*info.shape) : "-",
            SizeText(info.size),    or_dash(info.codec),
            or_dash(info.checksum), TimeText()};
  }

  /// Like Details. The size of a container is that of its file.
  std::vector<std::string> DirectoryDetails(const SourceTree::File& directory) {
    const Result<Attributes> attributes = tree_.Examine(directory);
    if (attributes) time_ = attributes->mtime;
    const auto container = tree_.ContainerAt(directory);
    const std::string format = FormatOf(container);
    std::string size = "-";
    if (container && !(*container)->source()->is_directory()) {
      size = SizeText((*container)->source()->size());
    }
    return {format.empty() ? "-" : format, "-", size, "-", "-", TimeText()};
  }

  /// The name of the format; empty if there is no container.
  std::string FormatOf(
      const Result<std::shared_ptr<const Container>>& container) {
    if (!container) {
      const bool none = container.error().code == Code::kNotContainer;
      return none ? "" : kUnreadable;
    }
    if (WhyUnreadable(**container)) return kUnreadable;
    return (*container)->FormatName(tree_.context());
  }

  /// time_ as text: in the local time zone on a terminal, else in UTC.
  std::string TimeText() const {
    struct tm parts {};
    const time_t seconds = time_.seconds;
    const bool local = terminal_.is_terminal();
    if (time_ == FileTime() ||
        (local ? ::localtime_r(&seconds, &parts)
               : ::gmtime_r(&seconds, &parts)) == nullptr) {
      return "-";
    }
    std::array<char, 40> text{};
    (void)std::strftime(text.data(), text.size(),
                        local ? "%Y-%m-%d %H:%M" : "%Y-%m-%dT%H:%M:%SZ",
                        &parts);
    return text.data();
  }

  std::string SizeText(uint64_t bytes) const {
    if (arguments_.human) return ShortSize(bytes);
    return terminal_.is_terminal() ? HumanSize(bytes) : std::to_string(bytes);
  }

  static void PrintDetails(const std::vector<std::string>& row) {
    std::printf("%-5s %-16s %12s %-11s %-17s %-20s ", row[0].c_str(),
                row[1].c_str(), row[2].c_str(), row[3].c_str(), row[4].c_str(),
                row[5].c_str());
  }

  static TextTable Header() {
    return {{"type", "shape", "size", "codec", "checksum", "time", "name"},
            {2}};
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
  uint64_t shown_ = 0;  // files and directories
  uint64_t files_ = 0;
  uint64_t bytes_ = 0;    // of files, with details
  FileTime time_ = {};    // of the last file, if it is known
  bool totals_ = false;   // whether a directory is listed
  bool by_path_ = false;  // whether files are shown by their paths
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
  ExitCode code = ExitCode::kOk;
  const Status listed = ForEachNamed(
      **tree, target.path, follow,
      [&](const SourceTree::File& file, bool matched) {
        return matched ? lister.ListMatch(file) : lister.List(file);
      },
      [&](const std::string& path, const Error& error) {
        code = PrintError(target.source + "//" + path, error);
      });
  if (listed) lister.AddTotals();
  lister.Flush();
  if (!listed) return PrintError(operand, listed.error());
  return lister.complete() ? code : ExitCode::kDamaged;
}

int RunLs(const Arguments& arguments) {
  ::tzset();  // reads a file, which the sandbox hides
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kFollowed);
  ExitCode last = ExitCode::kOk;  // of the last error
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
                             "  ctxfs ls 'model.gguf//tensors/*attn_q*'\n"
                             "  ctxfs ls -lh model.gguf | sort -h -k 3\n"
                             "  ctxfs ls -0 data.tar | xargs -0 -n 1 echo\n",
                         .kind = OperandKind::kPath,
                         .min_operands = 1};

}  // namespace ctxfs
