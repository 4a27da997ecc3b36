// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/common/exit_code.h"

namespace ctxfs {

/// A command-line option, for help, completions and the parser.
struct OptionInfo {
  char letter;             // identifies it in Command::options
  char short_name;         // of "-l"; 0: none
  std::string_view name;   // of "--long"
  std::string_view value;  // of "--jobs N"; empty for a flag
  std::string_view help;   // one sentence without a full stop

  /// The spellings without values: "-j", "--jobs".
  std::vector<std::string> Spellings() const;
};

/// The kind of a command's operands.
enum class OperandKind {
  kSource,    // SOURCE
  kPath,      // SOURCE//PATH or SOURCE[//PATH]
  kMount,     // a mount point of ctxfs
  kCommand,   // the name of a command
  kAnything,  // completed by the shell
};

struct Arguments;

/// Exit codes of commands that open a SOURCE, for --help.
inline constexpr std::string_view kReaderCodes =
    "  0 ok, 1 usage, 2 a source cannot be opened or has nothing to show,\n"
    "  3 its format is not known, 4 it is damaged, 5 its version is not\n"
    "  supported, 8 a limit was exceeded, 9 the key file cannot be used;\n"
    "  after several errors, the code of the last one\n";

/// Exit codes of commands that open no SOURCE.
inline constexpr std::string_view kPlainCodes = "  0 ok, 1 usage\n";

/// A command of `ctxfs`. The parser, the help and the completions are generated
/// from one table of commands (fs/main.cc).
struct Command {
  std::string_view name;        // "ls"
  std::string_view operands;    // "SOURCE[//PATH]..."
  std::string_view summary;     // its purpose in a few words
  std::string_view alias = "";  // another name; or empty
  /// Runs the command and returns the exit code.
  int (*run)(const Arguments& arguments) = nullptr;
  /// Runs a command that parses the command line itself; set instead of `run`.
  int (*run_words)(int argc, char** argv) = nullptr;
  std::string_view options = "";   // letters in kOptions
  std::string_view examples = "";  // shell lines; or empty
  OperandKind kind = OperandKind::kAnything;
  size_t min_operands = 0;
  size_t max_operands = SIZE_MAX;
  bool writes_to_last = false;    // whether it writes to the last operand
  std::string_view program = "";  // as the user types it; "": "ctxfs NAME"
  /// Commands run as `ctxfs NAME ACTION`, instead of `run`.
  std::span<const Command* const> actions = {};
  int usage_error = static_cast<int>(ExitCode::kUsage);  // exit code
  int key_error = static_cast<int>(ExitCode::kKey);      // exit code
  /// Exit code if a SOURCE cannot be opened.
  int source_error = static_cast<int>(ExitCode::kSource);
  std::string_view exit_codes = kReaderCodes;  // text for --help

  /// Returns the words that run the command, such as "ctxfs ls".
  std::string Program() const;
};

extern const Command kBrowseCommand;
extern const Command kCacheCommand;
extern const Command kCatCommand;
extern const Command kCheckCommand;
extern const Command kDiffCommand;
extern const Command kDigestCommand;
extern const Command kExtractCommand;
extern const Command kFormatsCommand;
extern const Command kInfoCommand;
extern const Command kLsCommand;
extern const Command kMountsCommand;
extern const Command kReportCommand;
extern const Command kStatsCommand;

/// The options of `command`, in the order of kOptions (command.cc).
std::vector<OptionInfo> OptionsOf(const Command& command);

/// The text of `ctxfs COMMAND --help`.
std::string HelpOf(const Command& command);

/// Finds a command by name or alias; null if there is none.
const Command* FindCommand(std::span<const Command* const> commands,
                           std::string_view name);

/// Parses the command line, reads the key file, and runs the command. Returns
/// its exit code; after printing an error, the code of the error; after
/// printing the help, 0.
int RunCommand(int argc, char** argv, const Command& command);

/// `ctxfs check` run as fsck.ctxfs, with the exit codes of fsck(8).
int RunFsck(int argc, char** argv);

/// The data for completing command lines.
struct CompletionTables {
  std::span<const Command* const> commands;
  std::vector<std::string> mount_flags;    // "-f", "--help"
  std::vector<std::string> mount_options;  // "flat", "cache=", for -o
  std::vector<std::string> verify_values;
  std::vector<std::string> list_values;
};

/// `ctxfs __complete PROGRAM WORD...`: prints the candidates for the last WORD,
/// one per line, or ":files" for names of files and directories
/// (packaging/completions). Prints no errors.
int RunComplete(int argc, char** argv, const CompletionTables& tables);

}  // namespace ctxfs
