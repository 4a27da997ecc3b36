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
#include "fs/key_file.h"

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

/// Whether `letter` with its value makes sense.
bool Take(int letter, const char* value, Arguments& arguments) {
  switch (letter) {
    case 'a': arguments.all = true; return true;
    case 'l': arguments.details = true; return true;
    case 'R': arguments.recursive = true; return true;
    case 'J': arguments.json = true; return true;
    case 'F': arguments.replace = true; return true;
    case 'S': arguments.salvage = true; return true;
    case 'K': arguments.key_file = value; return true;
    case 'I': arguments.insecure_key_file = true; return true;
    case 'j': return ReadJobs(value, &arguments.jobs);
    case 'C':
      arguments.sha256 = true;
      return std::string_view(value) == "sha256";
    case 'V':
      arguments.views = ParseViews(value);
      return arguments.views.has_value();
    default: return false;
  }
}

}  // namespace

std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments) {
  const std::string usage = std::string("usage: ctxfs ") + command.name + " " +
                            command.usage + "\n";
  // A colon: a missing value is ours to tell of, as everything else is.
  const std::string letters = std::string(":alRj:h");
  opterr = 0;
  optind = 1;
  for (int letter = 0; (letter = ::getopt_long(argc, argv, letters.c_str(),
                                               kOptions, nullptr)) != -1;) {
    if (letter == 'h') {
      std::fputs(usage.c_str(), stdout);
      return 0;
    }
    if (std::strchr(command.options, letter) == nullptr ||
        !Take(letter, optarg, *arguments)) {
      std::fprintf(stderr, "ctxfs %s: %s?\n%s", command.name, argv[optind - 1],
                   usage.c_str());
      return command.usage_error;
    }
  }
  arguments->operands.assign(argv + optind, argv + argc);
  if (arguments->operands.size() < command.operands) {
    std::fputs(usage.c_str(), stderr);
    return command.usage_error;
  }
  if (arguments->jobs == 0) {
    arguments->jobs = std::max(std::thread::hardware_concurrency(), 1U);
  }
  return std::nullopt;
}

Result<OpenOptions> OpenOptionsOf(const Arguments& arguments) {
  OpenOptions options;
  options.salvage = arguments.salvage;
  if (!arguments.key_file.empty()) {
    Result<std::shared_ptr<const MasterKey>> key =
        ReadKeyFile(arguments.key_file, arguments.insecure_key_file);
    if (!key) return std::move(key).error();
    options.key = std::move(*key);
  }
  return options;
}

void PrintError(const std::string& path, const Error& error) {
  std::fprintf(stderr, "ctxfs: %s: %s\n", Quote(path).c_str(),
               error.Text().c_str());
}

}  // namespace ctxfs
