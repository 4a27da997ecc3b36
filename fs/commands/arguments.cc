// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/arguments.h"

#include <getopt.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "core/base/text.h"
#include "core/vfs/key_file.h"

namespace ctxfs {
namespace {

// All options of all commands. Each has a letter; a lower-case letter and R are
// also short options.
constexpr option kOptions[] = {
    {"all", no_argument, nullptr, 'a'},
    {"long", no_argument, nullptr, 'l'},
    {"recursive", no_argument, nullptr, 'R'},
    {"jobs", required_argument, nullptr, 'j'},
    {"json", no_argument, nullptr, 'J'},
    {"checksums", required_argument, nullptr, 'C'},
    {"replace", no_argument, nullptr, 'F'},
    {"salvage", no_argument, nullptr, 'S'},
    {"views", required_argument, nullptr, 'V'},
    {"keyfile", required_argument, nullptr, 'K'},
    {"insecure-keyfile", no_argument, nullptr, 'I'},
    {"help", no_argument, nullptr, 'h'},
    {nullptr, 0, nullptr, 0},
};

bool ReadJobs(std::string_view text, unsigned* jobs) {
  constexpr unsigned kMost = 1024;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *jobs);
  return error == std::errc() && end == text.data() + text.size() &&
         *jobs >= 1 && *jobs <= kMost;
}

/// The value of --keyfile; `path` is empty if it was not given.
struct KeyFile {
  std::string path;
  bool insecure = false;
};

/// Stores an option. Fails if `value` is invalid for it.
bool Take(int letter, const char* value, Arguments& arguments, KeyFile& key) {
  switch (letter) {
    case 'a':
      arguments.all = true;
      return true;
    case 'l':
      arguments.details = true;
      return true;
    case 'R':
      arguments.recursive = true;
      return true;
    case 'J':
      arguments.json = true;
      return true;
    case 'F':
      arguments.replace = true;
      return true;
    case 'S':
      arguments.open.salvage = true;
      return true;
    case 'K':
      key.path = value;
      return true;
    case 'I':
      key.insecure = true;
      return true;
    case 'j':
      return ReadJobs(value, &arguments.jobs);
    case 'C':
      arguments.sha256 = true;
      return std::string_view(value) == "sha256";
    case 'V':
      arguments.views = ParseViews(value);
      return arguments.views.has_value();
    default:
      return false;
  }
}

/// Prints a usage error and returns the exit code for it.
int UsageError(const Command& command, const std::string& reason) {
  std::fprintf(stderr, "%s: %s; try '%s --help'\n", command.name,
               reason.c_str(), command.name);
  return command.usage_error;
}

/// The option that getopt_long returned `letter` for, as the user spells it.
/// `index` is of kOptions, or -1 for a short option.
std::string OptionName(int letter, int index) {
  if (index >= 0) return std::string("--") + kOptions[index].name;
  return std::string("-") + static_cast<char>(letter);
}

/// The word that getopt_long did not accept. `before` is optind before the
/// call.
std::string RejectedOption(char** argv, int before) {
  const std::string_view word = argv[optind - 1];
  const bool within_word = optind == before;  // in the middle of "-xl"
  if (optopt == 0 || (!within_word && word.starts_with("--"))) {
    return std::string(word);
  }
  return OptionName(optopt, -1);
}

/// Parses the options and leaves optind at the first operand. Returns the
/// reason of a usage error; empty if there is none.
std::string TakeOptions(int argc, char** argv, const Command& command,
                        Arguments* arguments, KeyFile* key, bool* help) {
  // With the leading colon getopt_long prints nothing and returns ':' for a
  // missing value.
  constexpr const char* kLetters = ":alRj:h";
  opterr = 0;
  optind = 1;
  while (true) {
    const int before = optind;
    int index = -1;
    const int letter = ::getopt_long(argc, argv, kLetters, kOptions, &index);
    if (letter == -1) return "";
    if (letter == 'h') {
      *help = true;
      return "";
    }
    if (letter == ':') {
      return "option '" + RejectedOption(argv, before) + "' needs a value";
    }
    if (letter == '?') {
      return "unknown option '" + RejectedOption(argv, before) + "'";
    }
    const std::string name = OptionName(letter, index);
    if (std::strchr(command.options, letter) == nullptr) {
      return "unknown option '" + name + "'";
    }
    if (!Take(letter, optarg, *arguments, *key)) {
      return "invalid value '" + std::string(optarg) + "' for option '" + name +
             "'";
    }
  }
}

/// The reason of a usage error in the number of operands; empty if there is
/// none.
std::string CheckOperands(const std::vector<std::string>& operands,
                          const Command& command) {
  if (operands.size() < command.min_operands) return "missing operand";
  if (operands.size() <= command.max_operands) return "";
  return "unexpected operand '" + operands[command.max_operands] + "'";
}

}  // namespace

std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments) {
  KeyFile key;
  bool help = false;
  std::string reason = TakeOptions(argc, argv, command, arguments, &key, &help);
  if (help) {
    std::printf("usage: %s %s\n", command.name, command.usage);
    return 0;
  }
  if (!reason.empty()) return UsageError(command, reason);
  arguments->operands.assign(argv + optind, argv + argc);
  reason = CheckOperands(arguments->operands, command);
  if (!reason.empty()) return UsageError(command, reason);
  if (arguments->jobs == 0) {
    arguments->jobs = std::max(std::thread::hardware_concurrency(), 1U);
  }
  if (key.path.empty()) return std::nullopt;
  Result<std::shared_ptr<const MasterKey>> master =
      ReadKeyFile(key.path, key.insecure);
  if (!master) {
    PrintError(key.path, master.error());
    return command.key_error;
  }
  arguments->open.key = std::move(*master);
  return std::nullopt;
}

void PrintError(const std::string& path, const Error& error) {
  std::fprintf(stderr, "ctxfs: %s: %s\n", Quote(path).c_str(),
               error.Text().c_str());
}

}  // namespace ctxfs
