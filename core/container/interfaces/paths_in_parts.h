// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"

namespace ctxfs {

/// The paths in a container that a directory of another one shows, such as a
/// sample of a record file. A separate interface, because few formats have such
/// directories. Every PathsInTree that Container::FilesWithPaths gets is one.
class PathsInParts : public PathsInTree {
 public:
  /// Returns the paths of all entries of `part`, below the directory that shows
  /// it.
  virtual std::vector<std::string> InPart(
      const std::shared_ptr<const Container>& part) const = 0;
};

}  // namespace ctxfs
