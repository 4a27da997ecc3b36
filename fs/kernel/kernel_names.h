// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Invalidates names, attributes and pages that the kernel caches of a mount.
/// Does nothing if the kernel has not cached them, or after the end of the
/// mount. Thread-safe.
class KernelNames {
 public:
  /// Makes an object for the mount of the session with the descriptor `device`.
  /// Duplicates the descriptor, because a call may outlast the session. Fails
  /// with kTooManyFiles.
  static Result<std::shared_ptr<const KernelNames>> Of(int device);

  /// Makes the kernel look up `name` in `directory` again at its next use; open
  /// files stay open.
  ///
  /// Blocks until no request for a name in that directory is pending, so a
  /// thread that other threads wait for must not call this.
  void Forget(Inode directory, const std::string& name) const;

  /// Makes the kernel query the attributes of `inode` again at their next use.
  /// Does not block.
  void ForgetAttributes(Inode inode) const;

  /// Drops the cached pages of a file, which must not be open: the call would
  /// wait for any READ of them, for ever if the daemon is killed meanwhile.
  void DropPages(Inode file) const;

 private:
  explicit KernelNames(Fd device) : device_(std::move(device)) {}

  const Fd device_;
};

}  // namespace ctxfs
