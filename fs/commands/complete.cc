// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs __complete`: prints candidates for shell completion
// (packaging/completions).
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/text/printable.h"
#include "core/io/urls/url_store.h"
#include "core/vfs/log.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/commands/command.h"
#include "fs/commands/confine.h"
#include "fs/common/mount_table.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {
namespace {

// Maximum number of paths that are offered. A directory may have millions of
// names, which no person would read.
constexpr size_t kMaxPaths = 1000;

constexpr std::string_view kBuckets = "s3://";

/// Tells the shell to complete names of files and directories.
constexpr const char* kFiles = ":files";

bool IsPrintable(std::string_view text) { return Printable(text) == text; }

/// Prints the candidates for the last word of a command line.
class Completer {
 public:
  Completer(std::vector<std::string> words, const CompletionTables& tables)
      : words_(std::move(words)), current_(words_.back()), tables_(tables) {}

  /// `program`: the program's name without directory.
  void Complete(std::string_view program) {
    if (program == "mount.ctxfs") return CompleteMount(0);
    if (program == "fsck.ctxfs") return CompleteNamed("check", 0);
    if (words_.size() > 1) return CompleteNamed(words_.front(), 1);
    if (current_.starts_with('-')) {
      Offer("--help", "print the commands");
      Offer("--version", "print the version");
      return;
    }
    OfferCommands();
    if (!offered_) std::puts(kFiles);  // ctxfs SOURCE MOUNTPOINT
  }

 private:
  void Offer(const std::string& candidate, std::string_view description = "") {
    if (!candidate.starts_with(current_) || !IsPrintable(candidate)) return;
    offered_ = true;
    std::printf("%s%s%s\n", candidate.c_str(), description.empty() ? "" : "\t",
                std::string(description).c_str());
  }

  void OfferCommands() {
    for (const Command* const command : tables_.commands) {
      Offer(std::string(command->name), command->summary);
    }
    if (offered_) return;
    for (const Command* const command : tables_.commands) {
      if (command->alias.empty()) continue;
      Offer(std::string(command->alias), command->summary);
    }
  }

  /// `first`: the index of the first word after the command's name.
  void CompleteNamed(std::string_view name, size_t first) {
    if (name == "mount") return CompleteMount(first);
    const Command* const command = FindCommand(tables_.commands, name);
    // `name` is not a command, so the line is `ctxfs SOURCE MOUNTPOINT -o
    // OPTIONS`.
    if (command == nullptr) return CompleteMount(first);
    CompleteAction(*command, first);
  }

  /// Completes the action of a command, or the command if it has no actions.
  void CompleteAction(const Command& command, size_t first) {
    const bool typed = words_.size() > first + 1;
    const Command* const action =
        typed ? FindCommand(command.actions, words_[first]) : nullptr;
    if (action != nullptr) return CompleteCommand(*action, first + 1);
    if (!typed) OfferActions(command);
    if (!offered_) CompleteCommand(command, first);
  }

  void OfferActions(const Command& command) {
    for (const Command* const action : command.actions) {
      Offer(std::string(action->name), action->summary);
    }
  }

  bool OptionsHaveEnded(size_t first) const {
    return std::find(words_.begin() + static_cast<ptrdiff_t>(first),
                     words_.end() - 1, "--") != words_.end() - 1;
  }

  void CompleteCommand(const Command& command, size_t first) {
    const std::vector<OptionInfo> options = OptionsOf(command);
    if (!OptionsHaveEnded(first)) {
      for (const OptionInfo& option : options) {
        if (option.value.empty()) continue;
        const std::string assigned = "--" + std::string(option.name) + "=";
        if (current_.starts_with(assigned)) {
          return OfferValues(option, assigned);
        }
        const std::vector<std::string> spellings = option.Spellings();
        if (words_.size() > first + 1 &&
            std::find(spellings.begin(), spellings.end(),
                      words_[words_.size() - 2]) != spellings.end()) {
          return OfferValues(option, "");
        }
      }
      if (current_.starts_with('-')) {
        for (const OptionInfo& option : options) {
          for (const std::string& spelling : option.Spellings()) {
            const bool assigns =
                spelling.starts_with("--") && !option.value.empty();
            Offer(spelling + (assigns ? "=" : ""), option.help);
          }
        }
        return;
      }
    }
    CompleteOperand(command.kind);
  }

  void OfferValues(const OptionInfo& option, const std::string& before) {
    switch (option.letter) {
      case 'V':
        return OfferList(before + ListStart(current_.substr(before.size())),
                         ViewValues());
      case 'C':
        return Offer(before + "sha256");
      case 'K':
      case 'o':
        if (before.empty()) std::puts(kFiles);
        return;
      default:
        return;
    }
  }

  /// Returns "a,b," for "a,b,c".
  static std::string ListStart(std::string_view list) {
    const size_t comma = list.rfind(',');
    return comma == std::string_view::npos
               ? ""
               : std::string(list.substr(0, comma + 1));
  }

  void OfferList(const std::string& before,
                 const std::vector<std::string>& values) {
    for (const std::string& value : values) Offer(before + value);
  }

  static std::vector<std::string> ViewValues() {
    std::vector<std::string> values = {"all", "none"};
    for (const View* const view : AllViews()) values.emplace_back(view->name);
    return values;
  }

  void CompleteMount(size_t first) {
    const bool ended = OptionsHaveEnded(first);
    const bool after_o =
        words_.size() > first + 1 && words_[words_.size() - 2] == "-o";
    if (!ended && after_o) return CompleteMountOptions();
    if (!ended && current_.starts_with('-')) {
      return OfferList("", tables_.mount_flags);
    }
    if (current_.starts_with(kBuckets)) return OfferBuckets();
    std::puts(kFiles);
  }

  void CompleteMountOptions() {
    const std::string before = ListStart(current_);
    const std::string_view last =
        std::string_view(current_).substr(before.size());
    if (last.starts_with("views=")) {
      return OfferList(before + "views=", ViewValues());
    }
    if (last.starts_with("verify=")) {
      return OfferList(before + "verify=", tables_.verify_values);
    }
    if (last.starts_with("list=")) {
      return OfferList(before + "list=", tables_.list_values);
    }
    OfferList(before, tables_.mount_options);
  }

  void CompleteOperand(OperandKind kind) {
    if (current_.starts_with(kBuckets)) return OfferBuckets();
    switch (kind) {
      case OperandKind::kCommand:
        return OfferCommands();
      case OperandKind::kMount:
        for (const MountEntry& mount : OwnMounts()) {
          Offer(mount.point, mount.source);
        }
        return;
      case OperandKind::kPath:
      case OperandKind::kSource:
        if (current_.find("//", 1) != std::string::npos) return OfferPaths();
        break;
      case OperandKind::kAnything:
        break;
    }
    std::puts(kFiles);
  }

  /// Completes s3://BUCKET with the store's buckets, but nothing below: a
  /// bucket may have millions of names.
  void OfferBuckets() {
    if (current_.find('/', kBuckets.size()) != current_.npos) return;
    // The timeout is short, because a person waits for candidates.
    const std::map<std::string, std::string> variables = {
        {"CTXFS_REMOTE_TIMEOUT", "3"}};
    const std::string url(kBuckets);
    if (!StartFetcher({url}, variables)) return;
    ConfineToReading({url}, LeavingLinks::kRefused);
    const Result<StoreListingPtr> buckets = TheUrlStore()->List(url, Request());
    if (!buckets) return;
    for (const StoreName& bucket : (*buckets)->names) {
      Offer(url + bucket.name + "/");
    }
  }

  /// Completes SOURCE//PATH with the names in the directory of PATH.
  void OfferPaths() {
    const std::string directory = current_.substr(0, current_.rfind('/') + 1);
    std::string operand = directory;
    if (const char* const home = std::getenv("HOME");
        home != nullptr && operand.starts_with("~/")) {
      operand = home + operand.substr(1);
    }
    const Target target = ParseTarget(operand);
    ConfineToReading({target.source}, LeavingLinks::kFollowed);
    OpenOptions options;
    options.salvage = true;
    const bool hidden =
        std::string_view(current_).substr(directory.size()).starts_with('.');
    const Result<std::unique_ptr<SourceTree>> tree =
        SourceTree::Open(target.source, options, AllViews(),
                         hidden ? ListMode::kAll : ListMode::kViews);
    if (!tree) return;
    const Result<SourceTree::File> top = (*tree)->Find(target.path);
    if (!top || !top->directory) return;
    size_t count = 0;
    (void)(*tree)->ForEach(*top, [&](const SourceTree::File& file) {
      Offer(directory + file.name() + (file.directory ? "/" : ""));
      if (++count < kMaxPaths) return Status();
      return Status(Error{Code::kLimit, "too many candidates"});
    });
  }

  const std::vector<std::string> words_;
  const std::string& current_;
  const CompletionTables& tables_;
  bool offered_ = false;
};

}  // namespace

int RunComplete(int argc, char** argv, const CompletionTables& tables) {
  SetLogSink({});  // messages would mix with candidates
  if (argc < 3) return static_cast<int>(ExitCode::kUsage);
  const std::string_view program = argv[1];
  Completer completer(std::vector<std::string>(argv + 2, argv + argc), tables);
  completer.Complete(program.substr(program.rfind('/') + 1));
  return 0;
}

}  // namespace ctxfs
