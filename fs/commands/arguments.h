// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/format.h"
#include "core/vfs/listing.h"
#include "core/views/view.h"
#include "fs/commands/command.h"

namespace ctxfs {

/// The parsed arguments of a command.
struct Arguments {
  std::vector<std::string> operands;
  bool all = false;        // -a, --all
  bool recursive = false;  // -R
  bool details = false;    // -l
  bool layers = false;     // --layers
  bool human = false;      // -h of ls
  bool zero = false;       // -0
  bool json = false;
  bool raw = false;
  bool quiet = false;     // -q
  bool paths = false;     // --paths
  bool values = false;    // --values
  bool diff = false;      // --diff
  bool stat = false;      // --stat
  bool missing = false;   // --missing
  bool sha256 = false;    // --checksums=sha256
  std::string published;  // --sha256; or empty, like the next two
  std::string against;
  std::string signed_by;
  std::string identity;  // --identity, in lower case; or empty
  bool replace = false;
  bool exact = false;
  std::string output;  // -o; or empty
  unsigned jobs = 0;   // -j; default: number of cores
  std::optional<ViewSet> views;
  std::string key_file;  // --keyfile; or empty
  bool insecure_key_file = false;
  bool offline = false;
  OpenOptions open;  // from --salvage and the key file

  /// The listing mode selected by -a and --views.
  ListMode list_mode() const {
    if (all) return ListMode::kAll;
    return views ? ListMode::kViews : ListMode::kPrimary;
  }
};

/// Prints "ctxfs: 'path': reason" on standard error and returns the exit code
/// for `error`.
ExitCode PrintError(const std::string& path, const Error& error);

}  // namespace ctxfs
