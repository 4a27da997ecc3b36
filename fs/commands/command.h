// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/exit_code.h"

namespace ctxfs {

/// An option of a command line, as help, completions and the parser use it.
struct OptionInfo {
  char letter;             // names it in Command::options
  char short_name;         // of "-l"; 0 if it has none
  std::string_view name;   // of "--long"
  std::string_view value;  // of "--jobs N"; empty for a flag
  std::string_view help;   // one sentence without a full stop

  /// "-j N, --jobs=N" without the values: "-j", "--jobs".
  std::vector<std::string> Spellings() const;
};

/// Every option of every command.
std::span<const OptionInfo> AllOptions();

/// What a command line names besides options.
enum class OperandKind {
  kSource,    // SOURCE
  kPath,      // SOURCE//PATH or SOURCE[//PATH]
  kMount,     // a mount point of ctxfs
  kCommand,   // the name of a command
  kAnything,  // the shell's own completion
};

/// A command of `ctxfs`. One table of them (fs/main.cc) is what the parser, the
/// help and the completions are made of.
struct Command {
  std::string_view name;      // "ls"
  std::string_view operands;  // "SOURCE[//PATH]..."
  std::string_view summary;   // what it does, in a few words
  int (*run)(int argc, char** argv);
  std::string_view options = "";   // letters of AllOptions()
  std::string_view examples = "";  // lines of a shell; empty for none
  OperandKind kind = OperandKind::kAnything;
  size_t min_operands = 0;
  size_t max_operands = SIZE_MAX;
  std::string_view program = "";  // as the user types it; "": "ctxfs NAME"
  int usage_error = static_cast<int>(ExitCode::kUsage);  // exit code
  int key_error = static_cast<int>(ExitCode::kKey);      // exit code

  /// "ctxfs ls".
  std::string Program() const;
};

extern const Command kCatCommand;
extern const Command kCheckCommand;
extern const Command kExtractCommand;
extern const Command kFormatsCommand;
extern const Command kInfoCommand;
extern const Command kLsCommand;
extern const Command kMountsCommand;
extern const Command kReportCommand;

/// The options that `command` takes, in the order of AllOptions().
std::vector<OptionInfo> OptionsOf(const Command& command);

/// The text of `ctxfs COMMAND --help`.
std::string HelpOf(const Command& command);

}  // namespace ctxfs
