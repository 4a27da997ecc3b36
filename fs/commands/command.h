// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/common/exit_code.h"

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

/// What a command line names besides options.
enum class OperandKind {
  kSource,    // SOURCE
  kPath,      // SOURCE//PATH or SOURCE[//PATH]
  kMount,     // a mount point of ctxfs
  kCommand,   // the name of a command
  kAnything,  // the shell's own completion
};

struct Arguments;

/// The exit codes of commands that open a SOURCE, as --help prints them.
inline constexpr std::string_view kReaderCodes =
    "  0 ok, 1 usage, 2 a source cannot be opened or has nothing to show,\n"
    "  3 its format is not known, 4 it is damaged, 5 its version is not\n"
    "  supported, 8 a limit was exceeded, 9 the key file cannot be used;\n"
    "  after several errors, the code of the last one\n";

/// The exit codes of commands that open none.
inline constexpr std::string_view kPlainCodes = "  0 ok, 1 usage\n";

/// A command of `ctxfs`. One table of them (fs/main.cc) is what the parser, the
/// help and the completions are made of.
struct Command {
  std::string_view name;        // "ls"
  std::string_view operands;    // "SOURCE[//PATH]..."
  std::string_view summary;     // what it does, in a few words
  std::string_view alias = "";  // another name; empty for none
  /// Does what the command line asks for, and returns the exit code.
  int (*run)(const Arguments& arguments) = nullptr;
  /// In the place of `run`: parses the command line itself.
  int (*run_words)(int argc, char** argv) = nullptr;
  std::string_view options = "";   // their letters in kOptions
  std::string_view examples = "";  // lines of a shell; empty for none
  OperandKind kind = OperandKind::kAnything;
  size_t min_operands = 0;
  size_t max_operands = SIZE_MAX;
  bool writes_to_last = false;    // the last operand is what it writes
  std::string_view program = "";  // as the user types it; "": "ctxfs NAME"
  /// `ctxfs NAME ACTION`: each is a command of its own, in the place of `run`.
  std::span<const Command* const> actions = {};
  int usage_error = static_cast<int>(ExitCode::kUsage);  // exit code
  int key_error = static_cast<int>(ExitCode::kKey);      // exit code
  /// Exit code for a SOURCE that cannot be opened.
  int source_error = static_cast<int>(ExitCode::kSource);
  std::string_view exit_codes = kReaderCodes;  // text for --help

  /// "ctxfs ls".
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

/// The options that `command` takes, in the order of kOptions
/// (command.cc).
std::vector<OptionInfo> OptionsOf(const Command& command);

/// The text of `ctxfs COMMAND --help`.
std::string HelpOf(const Command& command);

/// The command with the name or alias `name`; null if there is none.
const Command* FindCommand(std::span<const Command* const> commands,
                           std::string_view name);

/// Parses the command line of a command, reads the key file that it names, and
/// runs the command. Returns its exit code, or that of an error, which is
/// printed; 0 after printing the help if the command line asks for it.
int RunCommand(int argc, char** argv, const Command& command);

/// `ctxfs check` under the name fsck.ctxfs: with the exit codes of fsck(8).
int RunFsck(int argc, char** argv);

/// What completing a command line needs to know.
struct CompletionTables {
  std::span<const Command* const> commands;
  std::vector<std::string> mount_flags;    // "-f", "--help"
  std::vector<std::string> mount_options;  // "flat", "cache=", for -o
  std::vector<std::string> verify_values;
  std::vector<std::string> list_values;
};

/// `ctxfs __complete PROGRAM WORD...`: prints a line for each word that may
/// stand in the place of the last WORD, or the line ":files" if that is the
/// name of a file or directory (packaging/completions). Prints nothing about
/// errors.
int RunComplete(int argc, char** argv, const CompletionTables& tables);

}  // namespace ctxfs
