// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/read_operands.h"

#include <memory>

#include "core/content/read_through.h"
#include "core/io/urls/url.h"
#include "core/views/list/views.h"
#include "fs/commands/confine.h"
#include "fs/commands/named_files.h"

namespace ctxfs {
namespace {

/// The container of an operand. Consecutive operands that name the same remote
/// object share it, because opening it again would cost requests.
class LastTree {
 public:
  explicit LastTree(const Arguments& arguments) : arguments_(arguments) {}

  Result<SourceTree*> Of(const std::string& source) {
    if (tree_ != nullptr && source == source_ && IsUrl(source)) {
      return tree_.get();
    }
    tree_ = nullptr;  // frees its memory first
    tree_ = CTXFS_TRY(SourceTree::Open(source, arguments_.open,
                                       arguments_.views.value_or(AllViews()),
                                       arguments_.list_mode()));
    tree_->cache().SpillTo(spill_file_);
    source_ = source;
    return tree_.get();
  }

 private:
  const Arguments& arguments_;
  const std::shared_ptr<SpillFile> spill_file_ = OpenSpillFile();
  std::string source_;
  std::unique_ptr<SourceTree> tree_;
};

/// Reads the files of one operand. Prints the errors of files that match a
/// pattern.
Result<ExitCode> ReadOne(const std::string& operand, LastTree& last,
                         const ReadOperand& read) {
  const Target target = ParseTarget(operand);
  SourceTree* const tree = CTXFS_TRY(last.Of(target.source));
  ExitCode code = ExitCode::kOk;
  const auto lost = [&](const std::string& path, const Error& error) {
    code = PrintError(target.source + "//" + path, error);
  };
  const auto visit = [&](const SourceTree::File& file, bool matched) -> Status {
    const Result<ExitCode> done = read(*tree, file);
    if (!done && !matched) return done.error();
    if (!done) lost(file.path, done.error());
    if (done && *done != ExitCode::kOk) code = *done;
    return {};
  };
  CTXFS_TRY(ForEachNamed(*tree, target.path, /*follow=*/true, visit, lost));
  return code;
}

}  // namespace

ExitCode ReadOperands(const Arguments& arguments, const ReadOperand& read) {
  LastTree tree(arguments);
  ConfineToReading(SourcesOf(arguments.operands), LeavingLinks::kFollowed);
  ExitCode last = ExitCode::kOk;  // of the last error
  for (const std::string& operand : arguments.operands) {
    const Result<ExitCode> done = ReadOne(operand, tree, read);
    const ExitCode code = done ? *done : PrintError(operand, done.error());
    if (code != ExitCode::kOk) last = code;
  }
  return last;
}

Status ReadFile(SourceTree& tree, const SourceTree::File& file,
                const std::function<Status(Bytes)>& sink) {
  const OpenFile open = CTXFS_TRY(tree.Open(file));
  return ReadThrough(open.content, tree.cache(), sink);
}

}  // namespace ctxfs
