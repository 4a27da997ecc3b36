// SPDX-License-Identifier: Apache-2.0
#include "fs/browse/screen.h"

// Keeps ncurses from defining macros such as `timeout` and `move`.
#define NCURSES_NOMACROS
#include <curses.h>
#include <fmt/core.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/base/environment.h"
#include "fs/browse/fitting.h"
#include "fs/commands/text.h"
#include "fs/common/shown_text.h"

namespace ctxfs {
namespace {

constexpr int kControlL = 12;
constexpr int kEscape = 27;
constexpr int kDelete = 127;
// Colour pairs of pictures are numbered from here. Lower numbers belong to
// pairs with fixed numbers, such as COLOR_RED.
constexpr int kFirstPair = 16;
constexpr const char* kKeys =
    "? help   q quit   arrows move and open   / search   i describe   e "
    "extract";
constexpr const char* kPageKeys = "q back   arrows scroll   e extract";

unsigned PairBits(int pair) { return static_cast<unsigned>(COLOR_PAIR(pair)); }

unsigned AttributesOf(Colour colour) {
  switch (colour) {
    case Colour::kBold:
      return A_BOLD;
    case Colour::kRed:
      return PairBits(COLOR_RED);
    case Colour::kGreen:
      return PairBits(COLOR_GREEN);
    case Colour::kYellow:
      return PairBits(COLOR_YELLOW);
    case Colour::kBlue:
      return PairBits(COLOR_BLUE);
    default:
      return A_NORMAL;
  }
}

std::string NameOf(const SourceTree::File& file) {
  return ListedName(file.name()) + (file.directory ? "/"
                                    : file.link    ? "@"
                                                   : "");
}

std::string PaddedTo(std::string text, int columns) {
  const int width = Fit(text, columns).second;
  return text.append(static_cast<size_t>(std::max(columns - width, 0)), ' ');
}

/// The nearest of the 6 x 6 x 6 colours of xterm.
int XtermColour(const std::array<uint8_t, 3>& rgb) {
  constexpr int kCube = 16;
  int index = 0;
  for (const int value : rgb) {
    constexpr int kDark = 48;
    constexpr int kHalf = 115;
    const int level = value < kDark ? 0 : value < kHalf ? 1 : (value - 35) / 40;
    index = 6 * index + level;
  }
  return kCube + index;
}

/// A character of similar brightness, for terminals with few colours.
char Shade(const std::array<uint8_t, 3>& rgb) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  const int light = (3 * rgb[0] + 6 * rgb[1] + rgb[2]) / 10;
  return kShades[static_cast<size_t>(light) * (kShades.size() - 1) / 255];
}

void StartColours() {
  if (!::has_colors()) return;
  ::start_color();
  ::use_default_colors();
  for (const int colour : {COLOR_RED, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE}) {
    ::init_extended_pair(colour, colour, -1);
  }
}

Action ActionOf(int key) {
  switch (key) {
    case KEY_UP:
    case 'k':
      return Action::kUp;
    case KEY_DOWN:
    case 'j':
      return Action::kDown;
    case KEY_PPAGE:
      return Action::kPageUp;
    case KEY_NPAGE:
    case ' ':
      return Action::kPageDown;
    case KEY_HOME:
    case 'g':
      return Action::kFirst;
    case KEY_END:
    case 'G':
      return Action::kLast;
    case KEY_RIGHT:
    case KEY_ENTER:
    case '\n':
    case '\r':
    case 'l':
      return Action::kEnter;
    case KEY_LEFT:
    case KEY_BACKSPACE:
    case kDelete:
    case 'h':
      return Action::kLeave;
    case '/':
      return Action::kSearch;
    case 'n':
      return Action::kSearchAgain;
    case 'e':
      return Action::kExtract;
    case 'i':
      return Action::kDescribe;
    case '?':
      return Action::kHelp;
    case KEY_RESIZE:
    case kControlL:
      return Action::kRedraw;
    case 'q':
      return Action::kQuit;
    default:
      return Action::kNone;
  }
}

/// Whether the terminal is gone, so that no key will ever come.
bool HasHungUp() {
  struct pollfd input {
    STDIN_FILENO, POLLIN, 0
  };
  return ::poll(&input, 1, 0) == 1 &&
         (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace

Result<std::unique_ptr<Screen>> Screen::Start() {
  std::setlocale(LC_CTYPE, "");
  // ncurses prefers these variables to the terminal's size, and readline
  // exports them to the programs that it starts.
  ::unsetenv("COLUMNS");
  ::unsetenv("LINES");
  // Uses newterm, because initscr exits if it does not know the terminal.
  if (EnvironmentVariable("TERM") == "dumb" ||
      ::newterm(nullptr, stdout, stdin) == nullptr) {
    return Error{Code::kUnsupported,
                 "the terminal that TERM names is not known, or cannot move "
                 "its cursor"};
  }
  std::unique_ptr<Screen> screen(
      new Screen(LocaleCharset() == Charset::kUtf8 && MB_CUR_MAX > 1));
  ::cbreak();
  ::noecho();
  ::nonl();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  ::set_escdelay(50);
  StartColours();
  return screen;
}

Screen::~Screen() { ::endwin(); }

int Screen::Split(const Browser& browser) const {
  constexpr int kLeast = 16;
  constexpr size_t kBesideName = 8;  // size and space
  // The list takes two fifths of the window, or up to half of it minus 2 if the
  // names need that. Of 80 columns, 40 are left for a histogram.
  const int usual = std::max(kLeast, COLS * 2 / 5);
  const int most = std::max(usual, COLS / 2 - 2);
  const size_t needed = browser.longest_name() + kBesideName;
  return static_cast<int>(std::clamp(needed, static_cast<size_t>(usual),
                                     static_cast<size_t>(most)));
}

DetailRoom Screen::room(const Browser& browser) const {
  return {
      .columns = static_cast<size_t>(std::max(COLS - Split(browser) - 2, 8)),
      .lines = static_cast<size_t>(page(browser)),
      .utf8 = utf8_};
}

DetailRoom Screen::whole_room() const {
  return {.columns = static_cast<size_t>(std::max(COLS - 2, 8)),
          .lines = static_cast<size_t>(whole_page()),
          .utf8 = utf8_,
          .whole = true};
}

int Screen::NameLines(const Browser& browser) const {
  const auto columns = static_cast<size_t>(std::max(COLS - 2, 1));
  const size_t needed = (browser.longest_name() + columns - 1) / columns;
  const auto most = static_cast<size_t>(std::max(LINES / 4, 1));
  return static_cast<int>(std::clamp<size_t>(needed, 1, most));
}

ptrdiff_t Screen::page(const Browser& browser) const {
  return std::max(LINES - 2 - NameLines(browser), 1);
}

ptrdiff_t Screen::whole_page() const { return std::max(LINES - 2, 1); }

void Screen::Put(int line, int column, const std::string& text, int columns,
                 unsigned attributes) const {
  if (line >= LINES || column >= COLS || columns <= 0) return;
  auto [fitting, width] = Fit(text, std::min(columns, COLS - column));
  fitting.append(static_cast<size_t>(std::min(columns, COLS - column) - width),
                 ' ');
  ::wattrset(stdscr, static_cast<int>(attributes));
  ::mvwaddnstr(stdscr, line, column, fitting.c_str(),
               static_cast<int>(fitting.size()));
  ::wattrset(stdscr, A_NORMAL);
}

void Screen::DrawFiles(const Browser& browser) const {
  constexpr int kSizeColumns = 6;
  const auto lines = static_cast<size_t>(page(browser));
  // The list shows the page of the selected file; pages do not scroll.
  const size_t first = browser.selected() / lines * lines;
  const int split = Split(browser);
  const auto& files = browser.files();
  for (size_t i = first; i < std::min(first + lines, files.size()); ++i) {
    std::string size;
    if (browser.size(i)) {
      size = fmt::format("{:>{}}", ShortSize(*browser.size(i)), kSizeColumns);
    }
    const int columns = split - 1 - static_cast<int>(size.size());
    const std::string name = FitByMiddle(NameOf(files[i]), columns, utf8_);
    unsigned attributes =
        AttributesOf(files[i].directory ? Colour::kBlue : Colour::kNone);
    if (i == browser.selected()) attributes |= A_REVERSE;
    Put(1 + static_cast<int>(i - first), 0,
        " " + PaddedTo(name, columns) + size, split, attributes);
  }
}

void Screen::DrawName(const Browser& browser) const {
  if (browser.selection() == nullptr) return;
  const int columns = std::max(COLS - 2, 1);
  const int lines = NameLines(browser);
  const std::string name =
      FitByMiddle(NameOf(*browser.selection()), lines * columns, utf8_);
  int line = 1 + static_cast<int>(page(browser));
  for (const std::string& part : Wrapped(name, columns)) {
    if (line >= LINES - 1) return;
    Put(line++, 0, " " + part, COLS, A_BOLD);
  }
}

int Screen::Pair(int front, int back) {
  const auto [known, fresh] = pairs_.try_emplace(
      {front, back}, kFirstPair + static_cast<int>(pairs_.size()));
  if (fresh) ::init_extended_pair(known->second, front, back);
  return known->second;
}

void Screen::DrawPicture(const Pixels& picture, int top, int left, int last) {
  constexpr const char* kUpperHalf = "\xE2\x96\x80";
  constexpr int kXterm = 256;
  const bool colours = utf8_ && COLORS >= kXterm;
  const auto at = [&picture](uint32_t x, uint32_t y) {
    const uint32_t last = picture.height - 1;
    return picture.rgb[uint64_t{std::min(y, last)} * picture.width + x];
  };
  for (uint32_t y = 0; y < picture.height; y += 2) {
    const int line = top + static_cast<int>(y / 2);
    if (line > last) return;
    if (line < 1) continue;
    ::wmove(stdscr, line, left);
    for (uint32_t x = 0; x < picture.width; ++x) {
      if (!colours) {
        ::waddch(stdscr, static_cast<unsigned char>(Shade(at(x, y))));
        continue;
      }
      if (static_cast<int>(pairs_.size()) + kFirstPair >= COLOR_PAIRS) return;
      int pair = Pair(XtermColour(at(x, y)), XtermColour(at(x, y + 1)));
      ::wattr_set(stdscr, A_NORMAL, 0, &pair);
      ::waddstr(stdscr, kUpperHalf);
    }
    ::wattrset(stdscr, A_NORMAL);
  }
}

void Screen::DrawDetails(const Details& details, int left, int last) {
  int line = 1;
  for (const DetailLine& one : details.lines) {
    if (line > last) return;
    Put(line++, left, one.text, COLS - left, AttributesOf(one.colour));
  }
  DrawPicture(details.picture, line, left, last);
}

void Screen::DrawTitle(const std::string& title,
                       const std::string& place) const {
  const int columns = std::max(COLS - 1 - static_cast<int>(place.size()), 1);
  Put(0, 0, " " + FitByMiddle(title, columns, utf8_) + place, COLS, A_REVERSE);
}

void Screen::DrawKeys(const char* keys, const DetailLine& message) const {
  const bool plain = message.text.empty();
  Put(LINES - 1, 0, " " + (plain ? std::string(keys) : message.text), COLS,
      plain ? A_DIM : AttributesOf(message.colour));
}

void Screen::Draw(const std::string& source, const Browser& browser,
                  const Details* details, const DetailLine& message) {
  ::werase(stdscr);
  pairs_.clear();
  const size_t files = browser.files().size();
  std::string place;
  if (files > 0) {
    place = "   " + std::to_string(browser.selected() + 1) + "/" +
            std::to_string(files + browser.left_out());
  }
  DrawTitle(ListedName(source) + "//" + ListedName(browser.path()), place);
  DrawFiles(browser);
  DrawName(browser);
  const int left = Split(browser) + 2;
  if (details != nullptr) {
    DrawDetails(*details, left, static_cast<int>(page(browser)));
  } else {
    Put(1, left, "reading", COLS, A_DIM);
  }
  DrawKeys(kKeys, message);
  ::wrefresh(stdscr);
}

ptrdiff_t Screen::DrawPage(const std::string& title, const Details* details,
                           ptrdiff_t first, const DetailLine& message) {
  ::werase(stdscr);
  pairs_.clear();
  DrawTitle(title, "");
  DrawKeys(kPageKeys, message);
  if (details == nullptr) {
    Put(1, 1, "reading", COLS, A_DIM);
    ::wrefresh(stdscr);
    return first;
  }
  std::vector<DetailLine> lines;
  for (const DetailLine& one : details->lines) {
    for (std::string& part : Wrapped(one.text, std::max(COLS - 2, 1))) {
      lines.push_back({std::move(part), one.colour});
    }
  }
  const auto count = static_cast<ptrdiff_t>(lines.size());
  const ptrdiff_t all = count + (details->picture.height + 1) / 2;
  first = std::clamp<ptrdiff_t>(all - whole_page(), 0, first);
  for (ptrdiff_t i = first; i < std::min(first + whole_page(), count); ++i) {
    const DetailLine& line = lines[static_cast<size_t>(i)];
    Put(1 + static_cast<int>(i - first), 1, line.text, COLS - 2,
        AttributesOf(line.colour));
  }
  DrawPicture(details->picture, 1 + static_cast<int>(count - first), 1,
              static_cast<int>(whole_page()));
  ::wrefresh(stdscr);
  return first;
}

Action Screen::Next(bool moment) {
  constexpr int kMoment = 100;
  ::wtimeout(stdscr, moment ? kMoment : -1);
  const int key = ::wgetch(stdscr);
  if (key == ERR && HasHungUp()) return Action::kHungUp;
  const Action action = ActionOf(key);
  if (action == Action::kRedraw) ::clearok(::curscr, TRUE);
  return action;
}

std::string Screen::Ask(const std::string& question) {
  constexpr size_t kMax = 200;
  std::string answer;
  ::wtimeout(stdscr, -1);
  for (;;) {
    Put(LINES - 1, 0, " " + question + ShownText(answer), COLS, A_NORMAL);
    ::wrefresh(stdscr);
    const int key = ::wgetch(stdscr);
    if (key == '\n' || key == '\r' || key == KEY_ENTER) return answer;
    if (key == kEscape || key == ERR) return "";
    if (key == KEY_BACKSPACE || key == kDelete) {
      if (!answer.empty()) answer.pop_back();
    } else if (key >= ' ' && key <= UINT8_MAX && answer.size() < kMax) {
      answer += static_cast<char>(key);
    }
  }
}

}  // namespace ctxfs
