// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/io/urls/url.h"
#include "fs/browse/help.h"
#include "fs/commands/copy/new_file.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

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

/// Returns by how many lines a key moves in a list of which `page` lines are
/// shown; nullopt for keys that do not move in it.
std::optional<ptrdiff_t> LinesOf(Action action, ptrdiff_t page) {
  constexpr ptrdiff_t kAll = Browser::kMaxFiles;
  switch (action) {
    case Action::kUp:
      return -1;
    case Action::kDown:
      return 1;
    case Action::kPageUp:
      return -page;
    case Action::kPageDown:
      return page;
    case Action::kFirst:
      return -kAll;
    case Action::kLast:
      return kAll;
    default:
      return std::nullopt;
  }
}

}  // namespace

Session::Session(std::string source, SourceTree& tree, Browser& browser,
                 Screen& screen, const TargetTree& into,
                 UserInterrupt& interrupt)
    : source_(std::move(source)),
      tree_(tree),
      browser_(browser),
      screen_(screen),
      into_(into),
      interrupt_(interrupt),
      reading_(tree, browser, interrupt) {}

void Session::Run() {
  Read();
  for (;;) {
    const bool pending = reading_.pending();
    Draw();
    const Action action = screen_.Next(pending);
    if (UserInterrupt::signalled()) {
      // Once the details are shown, the thread only measures sizes, so Ctrl-C
      // ends the program instead of the thread's work.
      if (reading_.details() != nullptr) return;
      reading_.Stop();
      message_ = {"interrupted", Colour::kYellow};
      continue;
    }
    if (action == Action::kQuit && shown_ == Shown::kFiles) return;
    if (action == Action::kHungUp) return;
    if (action != Action::kNone) Answer(action);
  }
}

void Session::Read() {
  const bool whole = shown_ == Shown::kDescription;
  DetailRoom room = whole ? screen_.whole_room() : screen_.room(browser_);
  room.listings = whole || !IsUrl(source_);
  reading_.Start(room, static_cast<size_t>(screen_.page(browser_)));
}

void Session::Draw() {
  if (shown_ == Shown::kFiles) {
    screen_.Draw(source_, browser_, reading_.details(), message_);
    return;
  }
  const bool help = shown_ == Shown::kHelp;
  const SourceTree::File* const file = browser_.selection();
  const std::string path = file == nullptr ? browser_.path() : file->path;
  const std::string title =
      help ? "ctxfs browse" : ListedName(source_) + "//" + ListedName(path);
  first_line_ = screen_.DrawPage(
      title, help ? &HelpLines() : reading_.details(), first_line_, message_);
}

void Session::Answer(Action action) {
  if (shown_ != Shown::kFiles) return Scroll(action);
  Act([&] { return Do(action); });
  Read();
}

void Session::Act(const std::function<Status()>& act) {
  reading_.Stop();
  message_ = {};
  if (const Status done = act(); !done) {
    message_ = {ShownText(done.error().Text()), Colour::kRed};
  }
  interrupt_.Reset();
}

void Session::Scroll(Action action) {
  if (const auto lines = LinesOf(action, screen_.whole_page())) {
    first_line_ = std::max<ptrdiff_t>(0, first_line_ + *lines);
  } else if (action == Action::kExtract) {
    if (shown_ == Shown::kHelp) return;
    Act([this] { return ExtractSelected(); });
    Read();
  } else if (action != Action::kRedraw) {
    message_ = {};
    Show(Shown::kFiles);
    Read();
  }
}

Status Session::Do(Action action) {
  if (const auto files = LinesOf(action, screen_.page(browser_))) {
    browser_.Move(*files);
    return {};
  }
  switch (action) {
    case Action::kEnter:
      if (!CTXFS_TRY(browser_.Enter())) Show(Shown::kDescription);
      return {};
    case Action::kLeave:
      return browser_.Leave();
    case Action::kDescribe:
      Show(Shown::kDescription);
      return {};
    case Action::kHelp:
      Show(Shown::kHelp);
      return {};
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

void Session::Show(Shown shown) {
  shown_ = shown;
  first_line_ = 0;
}

Status Session::Search(const std::string& text) {
  if (text.empty()) return {};
  text_ = text;
  return browser_.Search(text_);
}

Status Session::ExtractSelected() {
  const SourceTree::File* const file = browser_.selection();
  if (file == nullptr) return {};
  CTXFS_TRY(Extract(tree_, *file, into_));
  message_ = {"wrote ./" + ListedName(file->name()), Colour::kGreen};
  return {};
}

}  // namespace ctxfs
