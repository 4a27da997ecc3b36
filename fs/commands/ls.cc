// SPDX-License-Identifier: Apache-2.0
//
// ctxfs ls: lists names, and what is known of the files without decoding them.
#include <cstdio>

#include "core/base/text.h"
#include "core/tree/index_json.h"
#include "fs/commands/arguments.h"
#include "fs/commands/commands.h"
#include "fs/commands/confine.h"
#include "fs/commands/source_tree.h"
#include "fs/commands/text.h"

namespace ctxfs {
namespace {

const Command kCommand{
    "ctxfs ls",
    "[-alR] [--json] [--views LIST] [--salvage] [--keyfile PATH] "
    "[--insecure-keyfile] SOURCE[//PATH]...",
    "alRJVSKI", 1};

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
    return tree_.ForEach(file, arguments_.all, visit);
  }

  /// False if the size of a file is unknown.
  bool complete() const { return complete_; }

 private:
  static std::string_view NameOf(const SourceTree::File& file) {
    return std::string_view(file.path).substr(file.path.rfind('/') + 1);
  }

  Status Show(const SourceTree::File& file) {
    ++shown_;
    if (arguments_.json) return ShowJson(file);
    const std::string name =
        ShownName(arguments_.recursive ? file.path : NameOf(file)) +
        (file.directory ? "/" : "");
    if (arguments_.details) ShowDetails(file);
    std::puts(name.c_str());
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

  void ShowDetails(const SourceTree::File& file) {
    if (file.directory) {
      std::printf("%-5s %-16s %12s %-11s %-17s ", "-", "-", "-", "-", "-");
      return;
    }
    const EntryInfo info = InfoOf(file);
    const auto or_dash = [](const std::string& text) {
      return text.empty() ? "-" : text.c_str();
    };
    const std::string shape = info.shape ? CompactJson(*info.shape) : "-";
    std::printf("%-5s %-16s %12llu %-11s %-17s ", or_dash(info.dtype),
                shape.c_str(), static_cast<unsigned long long>(info.size),
                or_dash(info.codec), or_dash(info.checksum));
  }

  Status ShowJson(const SourceTree::File& file) {
    Json object;
    if (file.directory) {
      object = {{"path", file.path}, {"kind", "directory"}};
    } else {
      object = EntryJson(InfoOf(file), file.path);
    }
    std::printf("%s%s", shown_ == 1 ? "\n" : ",\n",
                CompactJson(object).c_str());
    return {};
  }

  SourceTree& tree_;
  const Arguments& arguments_;
  bool complete_ = true;
  uint64_t shown_ = 0;
};

/// Returns kOk, or the code of an error that it has printed.
ExitCode ListOne(const std::string& operand, const Arguments& arguments) {
  const Target target = ParseTarget(operand);
  Result<std::unique_ptr<SourceTree>> tree = SourceTree::Open(
      target.source, arguments.open, arguments.views.value_or(AllViews()));
  if (!tree) {
    PrintError(target.source, tree.error());
    return ExitCodeOf(tree.error());
  }
  Lister lister(**tree, arguments);
  const Result<SourceTree::File> top = (*tree)->Find(target.path);
  const Status listed = top ? lister.List(*top) : Status(top.error());
  if (!listed) {
    PrintError(operand, listed.error());
    return ExitCodeOf(listed.error());
  }
  return lister.complete() ? ExitCode::kOk : ExitCode::kDamaged;
}

}  // namespace

int RunLs(int argc, char** argv) {
  Arguments arguments;
  if (const auto code = ParseArguments(argc, argv, kCommand, &arguments)) {
    return *code;
  }
  ConfineToReading(SourcesOf(arguments.operands));
  ExitCode worst = ExitCode::kOk;
  for (const std::string& operand : arguments.operands) {
    if (arguments.json) std::fputs("[", stdout);
    if (!arguments.json && arguments.operands.size() > 1) {
      std::printf("%s:\n", operand.c_str());
    }
    const ExitCode code = ListOne(operand, arguments);
    if (code != ExitCode::kOk) worst = code;
    if (arguments.json) std::fputs("\n]\n", stdout);
  }
  return static_cast<int>(worst);
}

}  // namespace ctxfs
