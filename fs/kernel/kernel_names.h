// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "core/vfs/attributes.h"

namespace ctxfs {

/// Tells the kernel that what it has of a mount may be something else now. What
/// it does not know is passed over, and so is everything once the mount has
/// ended. Safe for any number of threads.
class KernelNames {
 public:
  /// For the mount of the session that has the descriptor `device`. A call may
  /// last longer than the session, which closes that, so this has another.
  /// Fails with kTooManyFiles.
  static Result<std::shared_ptr<const KernelNames>> Of(int device);

  /// Has the kernel look up `name` in `directory` again at its next use; files
  /// that are open stay open.
  ///
  /// The kernel waits until no request for a name in that directory is under
  /// way. So this may block, and must not be called by a thread that others
  /// wait for.
  void Forget(Inode directory, const std::string& name) const;

  /// Has the kernel ask for the attributes of a file or directory again at
  /// their next use. Does not block.
  void ForgetAttributes(Inode inode) const;

  /// Has the kernel drop its pages of a file that nobody has open: it would
  /// wait for any READ of them, without an end if the daemon is killed
  /// meanwhile.
  void DropPages(Inode file) const;

 private:
  explicit KernelNames(Fd device) : device_(std::move(device)) {}

  const Fd device_;
};

}  // namespace ctxfs
