// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

using DirectoryFd = std::shared_ptr<const Fd>;

/// A tree of directories to write files into. Opens each directory from its
/// parent and follows no links, so nothing is written outside of the tree. A
/// directory has a number instead of an open descriptor, because a process can
/// have only few descriptors. After the last Add, Open and Path are
/// thread-safe.
class TargetTree {
 public:
  static constexpr size_t kTop = 0;

  /// Returns the tree below `path`, which may be a link. Creates `path` if it
  /// does not exist.
  static Result<TargetTree> Make(const std::string& path);

  /// Removes the top directory if Make created it and Keep was not called.
  void RemoveIfUnused() const;
  void Keep() { created_.clear(); }

  int descriptor() const { return top_->get(); }

  /// Creates the directory `name` in the directory `above` if necessary, and
  /// returns its number.
  Result<size_t> Add(size_t above, const std::string& name);

  Result<DirectoryFd> Open(size_t directory) const;
  /// Fails with kIo and ENOSPC if the file system lacks room for `bytes` and
  /// `files`. Ignores the room that replaced files would free.
  Status CheckRoom(uint64_t bytes, uint64_t files) const;
  /// The path relative to the top.
  std::string Path(size_t directory) const;
  size_t count() const { return directories_.size(); }

 private:
  struct Directory {
    size_t above;
    std::string name;
  };

  TargetTree(DirectoryFd top, std::string created)
      : top_(std::move(top)), created_(std::move(created)) {}
  /// The numbers of the directories on the way from the top to `directory`:
  /// without the top, with `directory`.
  std::vector<size_t> Way(size_t directory) const;

  DirectoryFd top_;
  std::string created_;  // the path of the top; empty: it existed
  std::vector<Directory> directories_ = {{kTop, ""}};
};

}  // namespace ctxfs
