// SPDX-License-Identifier: Apache-2.0
//
// `ctxfs browse`: shows the files of a source and their contents in a terminal.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/text/text.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/browse/browser.h"
#include "fs/browse/details.h"
#include "fs/browse/screen.h"
#include "fs/commands/arguments.h"
#include "fs/commands/confine.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/target.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

std::atomic<bool> g_signalled = false;

/// Interrupts work when the user presses Ctrl-C or another key. Reset only
/// while no work runs.
class UserInterrupt final : public Interrupt {
 public:
  bool interrupted() const override { return stopped_ || g_signalled; }
  // A signal handler cannot notify listeners.
  Clock::time_point AskAgainAt() const override {
    return Clock::now() + std::chrono::milliseconds(20);
  }
  void Stop() { stopped_ = true; }
  void Reset() {
    stopped_ = false;
    g_signalled = false;
  }

 private:
  std::atomic<bool> stopped_ = false;
};

void WatchSignals() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_signalled = true; };
  ::sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: wgetch returns
}

/// Computes the details of the selected file in a thread of its own, so that
/// keys still work.
class Reading {
 public:
  Reading(SourceTree& tree, UserInterrupt& interrupt)
      : tree_(tree), interrupt_(interrupt) {}
  ~Reading() { Stop(); }

  void Start(const SourceTree::File& file, const DetailRoom& room) {
    Stop();
    details_.reset();
    pending_ = std::async(std::launch::async, [this, file, room] {
      return DetailsOf(tree_, file, room, tree_.context());
    });
  }

  /// Interrupts the thread and waits for it.
  void Stop() {
    if (!pending_.valid()) return;
    interrupt_.Stop();
    details_ = pending_.get();
    interrupt_.Reset();
  }

  bool pending() {
    if (!pending_.valid()) return false;
    if (pending_.wait_for(std::chrono::seconds(0)) !=
        std::future_status::ready) {
      return true;
    }
    details_ = pending_.get();
    return false;
  }

  /// Null until they are computed.
  const Details* details() const { return details_ ? &*details_ : nullptr; }

 private:
  SourceTree& tree_;
  UserInterrupt& interrupt_;
  std::future<Details> pending_;
  std::optional<Details> details_;
};

/// Writes a file, verified, into the directory `into` under its own name.
Status Extract(SourceTree& tree, const SourceTree::File& file,
               const TargetTree& into) {
  if (file.directory || file.link) {
    return Error{Code::kUnsupported, "not a file: see 'ctxfs extract'"};
  }
  const OpenFile open = CTXFS_TRY(tree.Open(file));
  return WriteFile(open.content, tree.context(),
                   CTXFS_TRY(into.Open(TargetTree::kTop)), file.name(),
                   /*replace=*/false);
}

/// Reads keys and acts on them.
class Session {
 public:
  Session(std::string source, SourceTree& tree, Browser& browser,
          Screen& screen, const TargetTree& into, UserInterrupt& interrupt)
      : source_(std::move(source)),
        tree_(tree),
        browser_(browser),
        screen_(screen),
        into_(into),
        interrupt_(interrupt),
        reading_(tree, interrupt) {}

  void Run() {
    Read();
    for (Action action = Action::kNone; action != Action::kQuit;) {
      const bool pending = reading_.pending();
      screen_.Draw(source_, browser_, reading_.details(), message_);
      action = screen_.Next(pending);
      if (g_signalled && !pending) return;
      if (g_signalled) {
        reading_.Stop();
        message_ = {"interrupted", Colour::kYellow};
        continue;
      }
      if (action != Action::kNone) Answer(action);
    }
  }

 private:
  void Read() {
    const SourceTree::File* const file = browser_.selection();
    reading_.Start(file == nullptr ? browser_.directory() : *file,
                   screen_.room());
  }

  void Answer(Action action) {
    reading_.Stop();
    message_ = {};
    if (const Status done = Do(action); !done) {
      message_ = {ShownText(done.error().Text()), Colour::kRed};
    }
    interrupt_.Reset();
    Read();
  }

  Status Do(Action action) {
    constexpr ptrdiff_t kAll = Browser::kMaxFiles;
    switch (action) {
      case Action::kUp:
        browser_.Move(-1);
        return {};
      case Action::kDown:
        browser_.Move(1);
        return {};
      case Action::kPageUp:
        browser_.Move(-screen_.page());
        return {};
      case Action::kPageDown:
        browser_.Move(screen_.page());
        return {};
      case Action::kFirst:
        browser_.Move(-kAll);
        return {};
      case Action::kLast:
        browser_.Move(kAll);
        return {};
      case Action::kEnter:
        return browser_.Enter();
      case Action::kLeave:
        return browser_.Leave();
      case Action::kSearch:
        return Search(screen_.Ask("/"));
      case Action::kSearchAgain:
        return Search(text_);
      case Action::kExtract:
        return ExtractSelected();
      default:
        return {};
    }
  }

  Status Search(const std::string& text) {
    if (text.empty()) return {};
    text_ = text;
    return browser_.Search(text_);
  }

  Status ExtractSelected() {
    const SourceTree::File* const file = browser_.selection();
    if (file == nullptr) return {};
    CTXFS_TRY(Extract(tree_, *file, into_));
    message_ = {"wrote ./" + ListedName(file->name()), Colour::kGreen};
    return {};
  }

  const std::string source_;
  SourceTree& tree_;
  Browser& browser_;
  Screen& screen_;
  const TargetTree& into_;
  UserInterrupt& interrupt_;
  Reading reading_;
  DetailLine message_;
  std::string text_;  // last search
};

/// Returns the error of opening SOURCE//PATH, for printing after the terminal
/// is restored.
Status Browse(const Target& target, const Arguments& arguments,
              std::unique_ptr<Screen> screen, const TargetTree& into,
              std::shared_ptr<SpillFile> spill_file) {
  UserInterrupt interrupt;
  WatchSignals();
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
