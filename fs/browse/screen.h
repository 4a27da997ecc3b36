// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "fs/browse/browser.h"
#include "fs/browse/details.h"

namespace ctxfs {

/// A command of the user; also a timeout, or the end of the terminal.
enum class Action : uint8_t {
  kNone,  // a timeout or an unknown key
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kFirst,
  kLast,
  kEnter,
  kLeave,
  kSearch,
  kSearchAgain,
  kExtract,
  kDescribe,
  kHelp,
  kRedraw,
  kQuit,
  kHungUp,  // the terminal is gone
};

/// An ncurses terminal: files at the left, details at the right. At most one
/// exists; its destructor restores the terminal.
class Screen {
 public:
  /// Takes over the terminal. Fails with kUnsupported if it cannot move its
  /// cursor.
  static Result<std::unique_ptr<Screen>> Start();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Draws the list of files. `details` is null while they are computed;
  /// `message` replaces the list of keys in the last line.
  void Draw(const std::string& source, const Browser& browser,
            const Details* details, const DetailLine& message);

  /// Draws details in the whole window, from line `first` on, or from an
  /// earlier line if fewer lines would be left than the window shows. Returns
  /// the number of the line that it starts with.
  ptrdiff_t DrawPage(const std::string& title, const Details* details,
                     ptrdiff_t first, const DetailLine& message);

  /// Waits for a key; with `moment`, at most 0.1 s.
  Action Next(bool moment);

  /// Lets the user type a line after `question`; empty if cancelled.
  std::string Ask(const std::string& question);

  /// The space beside the list.
  DetailRoom room(const Browser& browser) const;
  /// The space of DrawPage.
  DetailRoom whole_room() const;
  /// Files per page of the list.
  ptrdiff_t page(const Browser& browser) const;
  /// Lines that DrawPage shows.
  ptrdiff_t whole_page() const;

 private:
  explicit Screen(bool utf8) : utf8_(utf8) {}
  void DrawTitle(const std::string& title, const std::string& place) const;
  void DrawFiles(const Browser& browser) const;
  /// Draws the name of the selected file in full below the list.
  void DrawName(const Browser& browser) const;
  void DrawDetails(const Details& details, int left, int last);
  void DrawKeys(const char* keys, const DetailLine& message) const;
  /// Draws the part of a picture, whose first line is `top`, that is in the
  /// lines from 1 to `last`.
  void DrawPicture(const Pixels& picture, int top, int left, int last);
  /// Writes `text`, cut or padded to `columns`.
  void Put(int line, int column, const std::string& text, int columns,
           unsigned attributes) const;
  /// Lines for the longest name of the list.
  int NameLines(const Browser& browser) const;
  /// Width of the list of files, in columns.
  int Split(const Browser& browser) const;
  /// Returns the number of the ncurses colour pair for two of xterm's 256
  /// colours.
  int Pair(int front, int back);

  const bool utf8_;
  std::map<std::pair<int, int>, int> pairs_;
};

}  // namespace ctxfs
