// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/vfs/source_tree.h"
#include "fs/browse/browser.h"
#include "fs/browse/reading.h"
#include "fs/browse/screen.h"
#include "fs/browse/user_interrupt.h"
#include "fs/commands/target.h"

namespace ctxfs {

/// Reads keys and acts on them.
class Session {
 public:
  /// All referenced arguments must outlive the session. Files are extracted
  /// into `into`.
  Session(std::string source, SourceTree& tree, Browser& browser,
          Screen& screen, const TargetTree& into, UserInterrupt& interrupt);

  /// Runs the session until the user ends it.
  void Run();

 private:
  /// What the window shows.
  enum class Shown { kFiles, kDescription, kHelp };

  void Read();
  void Draw();
  void Answer(Action action);
  /// Stops reading, calls `act`, and shows its error.
  void Act(const std::function<Status()>& act);
  /// Acts on a key while the description or the help is shown.
  void Scroll(Action action);
  Status Do(Action action);
  void Show(Shown shown);
  Status Search(const std::string& text);
  Status ExtractSelected();

  const std::string source_;
  SourceTree& tree_;
  Browser& browser_;
  Screen& screen_;
  const TargetTree& into_;
  UserInterrupt& interrupt_;
  Reading reading_;
  Shown shown_ = Shown::kFiles;
  ptrdiff_t first_line_ = 0;  // of the description or the help
  DetailLine message_;
  std::string text_;  // last search
};

}  // namespace ctxfs
