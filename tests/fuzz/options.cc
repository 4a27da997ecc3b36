// SPDX-License-Identifier: Apache-2.0
//
// The command line of a mount, which libfuse parses. A build without FUSE has
// no_options.cc instead.
#include "fs/mount/options.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/views/list/views.h"
#include "tests/fuzz/target.h"
#include "tests/support/judge.h"

namespace ctxfs::fuzz {
namespace {

/// The command line, an argument a line.
void TryOptions(Bytes input) {
  std::vector<std::string> arguments{"mount.ctxfs"};
  std::string_view rest = AsText(input);
  while (!rest.empty()) {
    const size_t line = std::min(rest.find('\n'), rest.size());
    // What main() gets has no NUL in it.
    arguments.emplace_back(rest.substr(0, std::min(line, rest.find('\0'))));
    rest.remove_prefix(std::min(line + 1, rest.size()));
  }
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
    uint64_t bytes = 0;
    (void)ParseSize(argument, &bytes);
    (void)ParseViews(argument);
  }
  argv.push_back(nullptr);
  MountOptions options;
  std::string error;
  const bool parsed = ParseMountOptions(static_cast<int>(arguments.size()),
                                        argv.data(), &options, &error);
  Require(parsed != !error.empty(),
          "a refusal says why, and nothing else does");
  if (parsed && !options.help && !options.version) {
    Require(!options.sources.empty(), "there is a source");
  }
}

}  // namespace

void AddOptionsTarget(std::vector<Target>& targets) {
  targets.push_back({"options", &TryOptions});
}

}  // namespace ctxfs::fuzz
