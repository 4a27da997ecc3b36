// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs browse`: shows the files of a source and their contents in a terminal.
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/browse/browser.h"
#include "fs/browse/screen.h"
#include "fs/browse/session.h"
#include "fs/browse/user_interrupt.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/target.h"

namespace ctxfs {
namespace {

/// Lets the user browse until they quit. Returns the error if SOURCE//PATH
/// cannot be opened; the caller prints it once the terminal is restored.
Status Browse(const Target& target, const Arguments& arguments,
              std::unique_ptr<Screen> screen, const TargetTree& into,
              std::shared_ptr<SpillFile> spill_file) {
  UserInterrupt interrupt;
  UserInterrupt::WatchSignals();
  ConfineToReading({target.source}, LeavingLinks::kFollowed, into.descriptor());
  const std::unique_ptr<SourceTree> tree = CTXFS_TRY(SourceTree::Open(
      target.source, arguments.open, arguments.views.value_or(AllViews()),
      arguments.list_mode(), LeavingLinks::kFollowed,
      {.interrupt = &interrupt}));
  tree->cache().SpillTo(std::move(spill_file));
  Browser browser(*tree);
  CTXFS_TRY(browser.Open(target.path));
  Session(target.source, *tree, browser, *screen, into, interrupt).Run();
  return {};
}

/// Starts the screen before the process is confined: ncurses reads system
/// files.
Result<std::unique_ptr<Screen>> StartScreen() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
    return Error{Code::kUnsupported,
                 "a terminal is needed to browse; 'ctxfs ls' and 'ctxfs info' "
                 "need none"};
  }
  return Screen::Start();
}

int RunBrowse(const Arguments& arguments) {
  const std::string& operand = arguments.operands.front();
  const Result<TargetTree> here = TargetTree::Make(".");
  if (!here) return static_cast<int>(PrintError(".", here.error()));
  std::shared_ptr<SpillFile> spill_file = OpenSpillFile();
  Result<std::unique_ptr<Screen>> screen = StartScreen();
  if (!screen) {
    PrintError(operand, screen.error());
    return static_cast<int>(ExitCode::kUsage);
  }
  const Status done = Browse(ParseTarget(operand), arguments,
                             *std::move(screen), *here, std::move(spill_file));
  if (done) return 0;
  return static_cast<int>(PrintError(operand, done.error()));
}

}  // namespace

const Command kBrowseCommand{
    .name = "browse",
    .operands = "SOURCE[//PATH]",
    .summary = "Shows files and what they contain, in the terminal",
    .run = &RunBrowse,
    .options = "aSVKIN",
    .examples =
        "  ctxfs browse model.gguf\n"
        "  ctxfs browse s3://models/llama//tensors\n",
    .kind = OperandKind::kPath,
    .min_operands = 1,
    .max_operands = 1};

}  // namespace ctxfs
