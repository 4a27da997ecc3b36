// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/container/container.h"

namespace ctxfs {

/// The paths in containers that are shown as directories of another container,
/// such as the samples of a record file. A separate interface, because few
/// formats have such directories. Every PathsInTree that
/// Container::FilesWithPaths receives is a PathsInParts.
class PathsInParts : public PathsInTree {
 public:
  /// Returns the paths of all entries of `part`, below the directory that shows
  /// it.
  virtual std::vector<std::string> InPart(
      const std::shared_ptr<const Container>& part) const = 0;
};

}  // namespace ctxfs
