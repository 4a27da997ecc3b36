// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/io/source.h"

namespace ctxfs {

/// A container that shows entries of other files as its own, such as a model of
/// several shards. A separate interface, because few formats have parts.
class HasParts {
 public:
  virtual ~HasParts() = default;

  /// Returns the paths of the other files, relative to the container's folder.
  /// Omits files that cannot be read.
  virtual std::vector<std::string> PartsBeside() const = 0;

  /// The file that has the bytes of an entry.
  virtual const Source& FileOf(uint32_t entry) const = 0;
};

}  // namespace ctxfs
