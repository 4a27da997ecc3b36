// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <string_view>
#include <thread>

#include "core/base/text/text.h"
#include "core/base/text/whole_number.h"
#include "core/content/sha256_of.h"
#include "core/io/urls/url.h"
#include "core/vfs/key_file.h"
#include "core/vfs/source_tree.h"
#include "core/views/list/views.h"
#include "fs/common/nearest_word.h"
#include "fs/common/operand_mistake.h"
#include "fs/common/shown_text.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {
namespace {

bool ReadJobs(std::string_view text, unsigned* jobs) {
  constexpr unsigned kMax = 1024;
  *jobs = WholeNumber<unsigned>(text).value_or(0);
  return *jobs >= 1 && *jobs <= kMax;
}

/// Parses 64 hex digits. Ignores case and blanks, because people copy
/// identities from other places.
bool ReadIdentity(std::string_view text, std::string* identity) {
  constexpr size_t kDigits = 64;
  constexpr std::string_view kBlanks = " \t\r\n";
  for (const char c : text) {
    if (kBlanks.find(c) == std::string_view::npos) *identity += c;
  }
  *identity = LowerHex(*identity);
  return identity->size() == kDigits &&
         identity->find_first_not_of("0123456789abcdef") == std::string::npos;
}

constexpr std::pair<char, bool Arguments::*> kFlagFields[] = {
    {'a', &Arguments::all},     {'A', &Arguments::all},
    {'l', &Arguments::details}, {'R', &Arguments::recursive},
    {'g', &Arguments::details}, {'y', &Arguments::layers},
    {'J', &Arguments::json},    {'W', &Arguments::raw},
    {'L', &Arguments::paths},   {'U', &Arguments::values},
    {'T', &Arguments::stat},    {'F', &Arguments::replace},
    {'E', &Arguments::exact},   {'H', &Arguments::human},
    {'0', &Arguments::zero},    {'I', &Arguments::insecure_key_file},
    {'N', &Arguments::offline}, {'B', &Arguments::diff},
    {'M', &Arguments::missing}, {'q', &Arguments::quiet}};

/// Stores an option's value. Fails if it is invalid.
bool Take(char letter, const std::string& value, Arguments& arguments) {
  for (const auto& [flag, field] : kFlagFields) {
    if (flag == letter) arguments.*field = true;
  }
  switch (letter) {
    case 'o':
      arguments.output = value;
      return !value.empty();
    case 'S':
      arguments.open.salvage = true;
      return true;
    case 'K':
      arguments.key_file = value;
      return !value.empty();
    case 'j':
      return ReadJobs(value, &arguments.jobs);
    case 'C':
      arguments.sha256 = true;
      return value == "sha256";
    case 'D':
      arguments.published = value;
      return !value.empty();
    case 'G':
      arguments.against = value;
      return !value.empty();
    case 'P':
      arguments.signed_by = value;
      return !value.empty();
    case 'Y':
      return ReadIdentity(value, &arguments.identity);
    case 'V':
      arguments.views = ParseViews(value);
      return arguments.views.has_value();
    default:
      return true;
  }
}

/// Prints a usage error and returns its exit code.
int UsageError(const Command& command, const std::string& reason) {
  const std::string program = command.Program();
  std::fprintf(stderr, "%s: %s; try '%s --help'\n", program.c_str(),
               ShownText(reason).c_str(), program.c_str());
  return command.usage_error;
}

std::string UnknownOption(const std::string& word, const Command& command) {
  const std::string spelt = word.substr(0, word.find('='));
  std::string reason = "unknown option '" + spelt + "'";
  if (!spelt.starts_with("--")) return reason;
  std::vector<std::string_view> names;
  for (const OptionInfo& option : OptionsOf(command)) {
    names.push_back(option.name);
  }
  return reason + DidYouMean(std::string_view(spelt).substr(2), names, "--");
}

std::string UnknownAction(const std::string& word, const Command& command) {
  std::vector<std::string_view> names;
  for (const Command* const action : command.actions) {
    names.push_back(action->name);
  }
  return Quote(word) + " is not an action" + DidYouMean(word, names);
}

/// Parses the command line of a command with CLI11.
class Parser {
 public:
  explicit Parser(const Command& command)
      : command_(command),
        app_(std::string(command.summary), command.Program()) {
    app_.set_help_flag();  // -h is in kOptions
    app_.allow_extras();
    for (const OptionInfo& option : OptionsOf(command)) {
      std::string names;
      for (const std::string& one : option.Spellings()) {
        names += (names.empty() ? "" : ",") + one;
      }
      CLI::Option* const added =
          option.value.empty() ? app_.add_flag(names) : app_.add_option(names);
      added->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      options_[option.letter] = added;
    }
  }

  /// Returns the text of a usage error, or an empty string.
  std::string Parse(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    // Words after "--" are operands, even if they start with '-'.
    const auto mark = std::find(words.begin(), words.end(), "--");
    const std::vector<std::string> rest(
        mark == words.end() ? mark : std::next(mark), words.end());
    words.erase(mark, words.end());
    if (std::string reason = CheckEmptyValues(words); !reason.empty()) {
      return reason;
    }
    // CLI11 ends a subcommand at "++", which here can only be a path.
    std::replace(words.begin(), words.end(), std::string("++"),
                 std::string("./++"));
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    try {
      app_.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      // The only possible error is a missing value: "--jobs: 1 required
      // missing".
      const std::string text = error.what();
      return "option '" + text.substr(0, text.find(':')) + "' needs a value";
    }
    // The words that CLI11 leaves are operands or misspelt options.
    for (std::string& word : app_.remaining()) {
      if (word.size() > 1 && word.front() == '-' && !Given('h')) {
        return UnknownOption(word, command_);
      }
      operands_.push_back(std::move(word));
    }
    operands_.insert(operands_.end(), rest.begin(), rest.end());
    return "";
  }

  bool Given(char letter) const {
    const auto found = options_.find(letter);
    return found != options_.end() && found->second->count() > 0;
  }

  /// Stores the options and operands. Returns the text of a usage error, or an
  /// empty string.
  std::string Store(Arguments* arguments) const {
    for (const OptionInfo& option : OptionsOf(command_)) {
      if (!Given(option.letter)) continue;
      const std::string name = "'--" + std::string(option.name) + "'";
      for (const std::string& value : options_.at(option.letter)->results()) {
        if (option.value.empty() && value != "true") {
          return "option " + name + " takes no value";
        }
        if (!Take(option.letter, value, *arguments)) {
          return "invalid value '" + value + "' for option " + name +
                 ": expected " + Expected(option);
        }
      }
    }
    arguments->operands = operands_;
    if (arguments->operands.size() < command_.min_operands) {
      return "missing operand: expected " + std::string(command_.operands);
    }
    if (arguments->operands.size() > command_.max_operands) {
      return "unexpected operand '" +
             arguments->operands[command_.max_operands] + "'";
    }
    return "";
  }

 private:
  static std::string Expected(const OptionInfo& option) {
    switch (option.letter) {
      case 'j':
        return "a number from 1 to 1024";
      case 'V':
        return "all, none or names of " + ViewNames();
      case 'D':
        return "64 hex digits, the path of a file, or auto";
      case 'Y':
        return "64 hex digits";
      case 'G':
      case 'K':
      case 'P':
      case 'o':
        return "the path of a file";
      default:
        return std::string(option.value);
    }
  }

  /// Without this check, CLI11 takes the word after "--jobs=" for its value.
  std::string CheckEmptyValues(const std::vector<std::string>& words) const {
    for (const std::string_view word : words) {
      if (word.size() < 4 || !word.starts_with("--") || !word.ends_with('=')) {
        continue;
      }
      for (const OptionInfo& option : OptionsOf(command_)) {
        if (word.substr(2, word.size() - 3) == option.name) {
          return "option '--" + std::string(option.name) +
                 (option.value.empty() ? "' takes no value"
                                       : "' needs a value");
        }
      }
    }
    return "";
  }

  const Command& command_;
  CLI::App app_;
  std::vector<std::string> operands_;
  std::map<char, CLI::Option*> options_;
};

/// Returns the conflict between options, or an empty string.
std::string ConflictIn(const Arguments& arguments, const Command& command) {
  if (!arguments.signed_by.empty() && arguments.published.empty()) {
    return "option '--signed-by' needs '--sha256'";
  }
  if (arguments.quiet && arguments.json) {
    return "options '--quiet' and '--json' exclude each other";
  }
  const bool may_compare = command.options.find('B') != std::string_view::npos;
  if (may_compare && arguments.values && !arguments.diff) {
    return "option '--values' needs '--diff'";
  }
  if (!arguments.diff) return "";
  if (arguments.exact)
    return "options '--diff' and '--exact' exclude each other";
  return arguments.operands.size() == 2 ? ""
                                        : "option '--diff' needs two SOURCEs";
}

/// Returns the probable mistake in the operands that are sources, or an empty
/// string.
std::string MistakeIn(std::vector<std::string> operands,
                      const Command& command) {
  const bool takes_files = command.kind == OperandKind::kPath;
  if (!takes_files && command.kind != OperandKind::kSource) return "";
  if (command.writes_to_last) operands.pop_back();
  for (const std::string& operand : operands) {
    // Where a SOURCE is expected, PATH may name a container. Only opening the
    // SOURCE can tell.
    const bool with_path = takes_files || !ParseTarget(operand).path.empty();
    std::string mistake = OperandMistake(operand, with_path);
    if (!mistake.empty()) return mistake;
  }
  return "";
}

}  // namespace

int RunCommand(int argc, char** argv, const Command& command) {
  if (command.run_words != nullptr) return command.run_words(argc, argv);
  if (const Command* const action =
          argc > 1 ? FindCommand(command.actions, argv[1]) : nullptr) {
    return RunCommand(argc - 1, argv + 1, *action);
  }
  Parser parser(command);
  std::string reason = parser.Parse(argc, argv);
  if (!reason.empty()) return UsageError(command, reason);
  if (parser.Given('h')) {
    std::fputs(HelpOf(command).c_str(), stdout);
    return 0;
  }
  Arguments arguments;
  reason = parser.Store(&arguments);
  if (reason.empty() && !command.actions.empty()) {
    reason = UnknownAction(arguments.operands.front(), command);
  }
  if (reason.empty()) reason = ConflictIn(arguments, command);
  if (!reason.empty()) return UsageError(command, reason);
  if (arguments.jobs == 0) {
    arguments.jobs = std::max(std::thread::hardware_concurrency(), 1U);
  }
  if (!arguments.key_file.empty()) {
    Result<std::shared_ptr<const MasterKey>> key =
        ReadKeyFile(arguments.key_file, arguments.insecure_key_file);
    if (!key) {
      PrintError(arguments.key_file, key.error());
      return command.key_error;
    }
    arguments.open.key = std::move(*key);
  }
  if (const std::string mistake = MistakeIn(arguments.operands, command);
      !mistake.empty()) {
    std::fprintf(stderr, "ctxfs: %s\n", ShownText(mistake).c_str());
    return command.source_error;
  }
  if (command.kind == OperandKind::kPath ||
      command.kind == OperandKind::kSource) {
    std::map<std::string, std::string> variables;
    if (arguments.offline) variables["CTXFS_OFFLINE"] = "1";
    if (Status ready = StartFetcher(arguments.operands, variables); !ready) {
      PrintError(arguments.operands.front(), ready.error());
      return command.source_error;
    }
  }
  const int code = command.run(arguments);
  EndFetcher();
  return code;
}

ExitCode PrintError(const std::string& path, const Error& error) {
  std::fprintf(
      stderr, "ctxfs: %s\n",
      ShownText(Quote(WithoutQuery(path)) + ": " + error.Text()).c_str());
  return ExitCodeOf(error);
}

}  // namespace ctxfs
