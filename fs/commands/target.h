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

  /// Removes the top again if Make created it and Keep was not called.
  void RemoveIfUnused() const;
  void Keep() { created_.clear(); }

  /// The descriptor of the top.
  int descriptor() const { return top_->get(); }

  /// Creates the directory `name` in the directory `above`, unless it exists,
  /// and returns its number.
  Result<size_t> Add(size_t above, const std::string& name);

  Result<DirectoryFd> Open(size_t directory) const;
  /// Fails with kIo and ENOSPC if the file system has no room for so many bytes
  /// and files more. Does not count the room that replacing files would free.
  Status CheckRoom(uint64_t bytes, uint64_t files) const;
  /// The path in the tree; empty for the top.
  std::string Path(size_t directory) const;
  size_t count() const { return directories_.size(); }

 private:
  struct Directory {
    size_t above;
    std::string name;
  };

  TargetTree(DirectoryFd top, std::string created)
      : top_(std::move(top)), created_(std::move(created)) {}
  /// The numbers of the directories from the top, which is left out, to one.
  std::vector<size_t> Way(size_t directory) const;

  DirectoryFd top_;
  std::string created_;  // the path of the top; empty if it existed
  std::vector<Directory> directories_ = {{kTop, ""}};
};

}  // namespace ctxfs
