// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "fs/commands/arguments.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/target.h"

namespace ctxfs {

/// The output of `ctxfs report`: standard output, or a file that has a
/// temporary name until it is complete.
class ReportOutput {
 public:
  /// Opens the FILE of -o; "-" is standard output, and the default is a name
  /// derived from the first SOURCE. Fails if the file exists, unless --replace
  /// is given and the file is a regular file that begins like a page of ctxfs.
  static Result<ReportOutput> Open(const Arguments& arguments);

  Status Write(Bytes bytes);

  /// Renames the file to its final name, after checking again that it may use
  /// this name.
  Status Commit();

  bool is_standard_output() const { return !file_.has_value(); }
  /// The path as given, for messages.
  const std::string& path() const { return path_; }

 private:
  ReportOutput(std::string path, bool replace)
      : path_(std::move(path)), replace_(replace) {}

  Status OpenFile();

  const std::string path_;
  const bool replace_;
  DirectoryFd directory_;
  std::string name_;
  std::optional<NewFile> file_;  // none: standard output
};

/// Returns "models" for "../models/"; "report" if the path has no name.
std::string NameOfPath(const std::string& path);

/// The path of `-o FILE`, or the default path for the first SOURCE.
std::string ReportPath(const Arguments& arguments);

}  // namespace ctxfs
