// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/format.h"
#include "core/views/view.h"
#include "fs/exit_code.h"

namespace ctxfs {

/// What a command was asked for.
struct Arguments {
  std::vector<std::string> operands;
  bool all = false;        // -a
  bool recursive = false;  // -R
  bool details = false;    // -l
  bool json = false;
  bool sha256 = false;  // --checksums=sha256
  bool replace = false;
  unsigned jobs = 0;  // -j; as many as there are cores unless given
  std::optional<ViewSet> views;
  OpenOptions open;  // of --salvage, and the key that --keyfile names
};

/// A command, for its command line.
struct Command {
  const char* name;
  const char* usage;    // without the name
  const char* options;  // the letters of kOptions in arguments.cc that it takes
  size_t operands;      // at least
  /// What it returns for what is wrong with its command line; 0: an ExitCode.
  int wrong = 0;
};

/// Reads a command line, and the key that it names. Returns the code to exit
/// with instead if something is wrong with them, which was said on standard
/// error, or if it asks for help.
std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments);

/// "ctxfs: 'path': reason" on standard error.
void PrintError(const std::string& path, const Error& error);

}  // namespace ctxfs
