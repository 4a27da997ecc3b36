// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

using DirectoryFd = std::shared_ptr<const Fd>;

/// A tree of directories to write files into. Each directory is opened from its
/// parent, and no link is followed, so nothing is written outside of the tree.
/// Directories have numbers and not descriptors, because there may be more of
/// them than a process may open. After the last Add any thread may call Open
/// and Path.
class TargetTree {
 public:
  static constexpr size_t kTop = 0;

  /// Returns the tree below `path`, which may be a link, and is created if it
  /// does not exist.
  static Result<TargetTree> Make(const std::string& path);

  /// Creates the directory `name` in the directory `above`, unless it exists,
  /// and returns its number.
  Result<size_t> Add(size_t above, const std::string& name);

  Result<DirectoryFd> Open(size_t directory) const;
  /// The path in the tree; empty for the top.
  std::string Path(size_t directory) const;
  size_t count() const { return directories_.size(); }

 private:
  struct Directory {
    size_t above;
    std::string name;
  };

  explicit TargetTree(DirectoryFd top) : top_(std::move(top)) {}
  /// The numbers of the directories from the top, which is left out, to one.
  std::vector<size_t> Way(size_t directory) const;

  DirectoryFd top_;
  std::vector<Directory> directories_ = {{kTop, ""}};
};

}  // namespace ctxfs
