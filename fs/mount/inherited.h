// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ctxfs {

/// The descriptors above standard error that the caller of this process left
/// open in it. A daemon that kept them would keep a pipe's reader waiting for
/// its end and a file's lock taken for as long as the mount lasts.
class InheritedDescriptors {
 public:
  /// Finds them, and keeps them from programs that this process executes. To be
  /// called before it opens anything itself.
  static InheritedDescriptors Find();

  /// Closes them. Not done at once: a source or a key file may be named as
  /// /dev/fd/N.
  void Close() const;

 private:
  std::vector<int> descriptors_;
};

}  // namespace ctxfs
