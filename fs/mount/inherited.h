// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace ctxfs {

/// The inherited descriptors above standard error. A daemon that kept them open
/// would hold pipes open and files locked as long as the mount lasts.
class InheritedDescriptors {
 public:
  /// Finds the descriptors and sets close-on-exec. Without /proc, closes them
  /// at once. Must be called before this process opens a file.
  static InheritedDescriptors Find();

  /// Closes the descriptors. Find leaves them open, because a source or a key
  /// file may be named /dev/fd/N.
  void Close() const;

 private:
  std::vector<int> descriptors_;
};

}  // namespace ctxfs
