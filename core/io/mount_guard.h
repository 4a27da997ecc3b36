// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "core/base/result.h"

namespace ctxfs {

/// Keeps a serving process out of file systems that ctxfs serves: its own and
/// those of other daemons. Two daemons that send each other requests would wait
/// for each other in the kernel, where no signal reaches them. Process-wide;
/// inactive until Start. Safe for any number of threads.
class MountGuard {
 public:
  /// Opens the table of mounts, which Forbids needs. Fails if /proc is not
  /// mounted; then nothing is forbidden.
  static Status Start();
  static bool started();
  /// Undoes Start and Permit: for tests.
  static void Stop();

  /// Allows `device` for good: it holds a SOURCE that the user named.
  static void Permit(dev_t device);

  /// Returns whether `device` is a file system of ctxfs that is not permitted.
  /// Sends no request to it.
  static bool Forbids(dev_t device);
};

}  // namespace ctxfs
