// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "fs/browse/browser.h"
#include "fs/browse/details.h"

namespace ctxfs {

/// A user's command.
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
  kRedraw,
  kQuit,
};

/// An ncurses terminal: files at the left, details at the right. At most one
/// exists; its destructor restores the terminal.
class Screen {
 public:
  /// Fails with kUnsupported if the terminal cannot move its cursor.
  static Result<std::unique_ptr<Screen>> Start();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Draws everything. `details` is null while they are computed; `message`
  /// replaces the list of keys in the last line.
  void Draw(const std::string& source, const Browser& browser,
            const Details* details, const DetailLine& message);

  /// Waits for a key; with `moment`, at most 0.1 s.
  Action Next(bool moment);

  /// Lets the user type a line after `question`; empty if cancelled.
  std::string Ask(const std::string& question);

  DetailRoom room() const;
  /// Files per page of the list.
  ptrdiff_t page() const;

 private:
  explicit Screen(bool utf8) : utf8_(utf8) {}
  void DrawFiles(const Browser& browser) const;
  void DrawDetails(const Details& details);
  void DrawPicture(const Pixels& picture, int top);
  /// Writes `text`, cut or padded to `columns`.
  void Put(int line, int column, const std::string& text, int columns,
           unsigned attributes) const;
  /// Width of the list of files, in columns.
  int Split() const;
  /// The number of a pair of xterm's 256 colours.
  int Pair(int front, int back);

  const bool utf8_;
  std::map<std::pair<int, int>, int> pairs_;
};

}  // namespace ctxfs
