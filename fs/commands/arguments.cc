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

// Every option of every command, by a letter: small ones may be given as such.
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

/// The key file that was named, if one was.
struct KeyFile {
  std::string path;
  bool insecure = false;
};

/// Whether `letter` with its value makes sense.
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

}  // namespace

std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments) {
  const std::string usage =
      std::string("usage: ctxfs ") + command.name + " " + command.usage + "\n";
  // A colon: a missing value is ours to tell of, as everything else is.
  constexpr const char* kLetters = ":alRj:h";
  const auto wrong = [&command](ExitCode code) {
    return command.wrong != 0 ? command.wrong : static_cast<int>(code);
  };
  KeyFile key;
  opterr = 0;
  optind = 1;
  for (int letter = 0; (letter = ::getopt_long(argc, argv, kLetters, kOptions,
                                               nullptr)) != -1;) {
    if (letter == 'h') {
      std::fputs(usage.c_str(), stdout);
      return 0;
    }
    if (std::strchr(command.options, letter) == nullptr ||
        !Take(letter, optarg, *arguments, key)) {
      std::fprintf(stderr, "ctxfs %s: %s?\n%s", command.name, argv[optind - 1],
                   usage.c_str());
      return wrong(ExitCode::kUsage);
    }
  }
  arguments->operands.assign(argv + optind, argv + argc);
  if (arguments->operands.size() < command.operands) {
    std::fputs(usage.c_str(), stderr);
    return wrong(ExitCode::kUsage);
  }
  if (arguments->jobs == 0) {
    arguments->jobs = std::max(std::thread::hardware_concurrency(), 1U);
  }
  if (key.path.empty()) return std::nullopt;
  Result<std::shared_ptr<const MasterKey>> master =
      ReadKeyFile(key.path, key.insecure);
  if (!master) {
    PrintError(key.path, master.error());
    return wrong(ExitCode::kKey);
  }
  arguments->open.key = std::move(*master);
  return std::nullopt;
}

void PrintError(const std::string& path, const Error& error) {
  std::fprintf(stderr, "ctxfs: %s: %s\n", Quote(path).c_str(),
               error.Text().c_str());
}

}  // namespace ctxfs
