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

/// A command of the user.
enum class Action : uint8_t {
  kNone,  // nothing within the time, or a key without a meaning
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

/// The terminal, by ncurses: files at the left, details at the right. There is
/// one at a time; its end restores the terminal.
class Screen {
 public:
  /// Fails with kUnsupported if the terminal cannot move its cursor.
  static Result<std::unique_ptr<Screen>> Start();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// Draws everything. `details` is null while they are being made; `message`
  /// takes the place of the keys in the last line.
  void Draw(const std::string& source, const Browser& browser,
            const Details* details, const DetailLine& message);

  /// Waits for a key; with `moment`, a tenth of a second at most.
  Action Next(bool moment);

  /// Lets the user type a line after `question`; empty if that was given up.
  std::string Ask(const std::string& question);

  DetailRoom room() const;
  /// Files that the list shows at a time.
  ptrdiff_t page() const;

 private:
  explicit Screen(bool utf8) : utf8_(utf8) {}
  void DrawFiles(const Browser& browser) const;
  void DrawDetails(const Details& details);
  void DrawPicture(const Pixels& picture, int top);
  /// Writes `text`, cut to `columns`, as blanks after its end.
  void Put(int line, int column, const std::string& text, int columns,
           unsigned attributes) const;
  /// Columns of the list of files.
  int Split() const;
  /// The number of a pair of colours of the 256 of xterm.
  int Pair(int front, int back);

  const bool utf8_;
  std::map<std::pair<int, int>, int> pairs_;
};

}  // namespace ctxfs
