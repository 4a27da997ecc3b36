// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "fs/commands/arguments.h"
#include "fs/commands/copy/new_file.h"
#include "fs/commands/target.h"

namespace ctxfs {

/// Where `ctxfs report` writes its page: to a file under a temporary name until
/// it is complete, or to standard output.
class ReportOutput {
 public:
  /// `-o FILE`, "-" for standard output; by default the name of the first
  /// SOURCE. Fails if there is a file of that name, unless --replace is given
  /// and it is a regular file that begins as the pages of ctxfs do.
  static Result<ReportOutput> Open(const Arguments& arguments);

  Status Write(Bytes bytes);

  /// Gives the file its name, after checking once more that it may be taken.
  Status Commit();

  bool is_standard_output() const { return !file_.has_value(); }
  /// As given, for messages.
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

/// "models" of "../models/"; "report" if the path has no name.
std::string NameOfPath(const std::string& path);

/// The path that `-o FILE` or, without it, the first SOURCE gives.
std::string ReportPath(const Arguments& arguments);

}  // namespace ctxfs
