// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "fs/commands/command.h"

namespace ctxfs {

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
