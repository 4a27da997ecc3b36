// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

using DirectoryFd = std::shared_ptr<const Fd>;

/// kIo: `what` and the text of errno.
Error SystemError(const std::string& what);

/// A tree of directories to write files into. Each is entered from the one
/// above and no link is followed, so that nothing is written outside of it.
/// Directories have numbers, not descriptors: there may be more of them than a
/// process may have open. After the last Add, Open and Path are for any thread.
class TargetTree {
 public:
  static constexpr size_t kTop = 0;

  /// The tree below `path`, which may be a link, and is created if need be.
  static Result<TargetTree> Make(const std::string& path);

  /// Creates the directory `name` in another unless it exists, and returns its
  /// number.
  Result<size_t> Add(size_t above, const std::string& name);

  Result<DirectoryFd> Open(size_t directory) const;
  /// Below the top; empty for that.
  std::string Path(size_t directory) const;
  size_t count() const { return directories_.size(); }

 private:
  struct Directory {
    size_t above;
    std::string name;
  };

  explicit TargetTree(DirectoryFd top) : top_(std::move(top)) {}
  /// The numbers of the directories on the way to one, without the top.
  std::vector<size_t> Way(size_t directory) const;

  DirectoryFd top_;
  std::vector<Directory> directories_ = {{kTop, ""}};
};

}  // namespace ctxfs
