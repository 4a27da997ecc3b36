// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/format.h"
#include "core/views/view.h"
#include "fs/exit_code.h"

namespace ctxfs {

/// The parsed arguments of a command.
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

/// The command line of a command.
struct Command {
  const char* name;     // as a user types it: "ctxfs ls"
  const char* usage;    // without the name
  const char* options;  // the letters of kOptions in arguments.cc it takes
  size_t min_operands;
  size_t max_operands = SIZE_MAX;
  int usage_error = static_cast<int>(ExitCode::kUsage);  // exit code
  int key_error = static_cast<int>(ExitCode::kKey);      // exit code
};

/// Parses a command line and reads the key file it names. If that fails, prints
/// why on standard error and returns the exit code. Returns 0 after printing
/// the help if the command line asks for it.
std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments);

/// "ctxfs: 'path': reason" on standard error.
void PrintError(const std::string& path, const Error& error);

}  // namespace ctxfs
