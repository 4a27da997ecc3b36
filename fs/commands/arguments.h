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
  bool salvage = false;
  unsigned jobs = 0;  // -j; as many as there are cores unless given
  std::optional<ViewSet> views;
  std::string key_file;  // empty: none
  bool insecure_key_file = false;
};

/// A command, for its command line.
struct Command {
  const char* name;
  const char* usage;    // without the name
  const char* options;  // the letters of kOptions in arguments.cc that it takes
  size_t operands;      // at least
  int usage_error = static_cast<int>(ExitCode::kUsage);  // what it then returns
};

/// Reads a command line. Returns the code to exit with instead if it is wrong,
/// which was said on standard error, or if it asks for help.
std::optional<int> ParseArguments(int argc, char** argv, const Command& command,
                                  Arguments* arguments);

/// How containers are to be opened, with the key if one was named.
Result<OpenOptions> OpenOptionsOf(const Arguments& arguments);

/// "ctxfs: 'path': reason" on standard error.
void PrintError(const std::string& path, const Error& error);

}  // namespace ctxfs
