// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/container/exports.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A container of a model, some of whose weights may be missing from its
/// arrays or have other names there (docs/views.md, section 4). Containers
/// implement it besides Container.
class ModelWeights {
 public:
  virtual ~ModelWeights() = default;

  /// Returns all weights with their values, under the names that loaders
  /// expect: quantised ones as float32, deltas applied. Reads headers at most.
  /// Fails if a weight cannot be read or has no values: loaders do not fail
  /// then, they give it random values, or take its codes for values.
  virtual Result<std::vector<ArrayInfo>> Weights(
      const ReadContext& context) const = 0;
};

}  // namespace ctxfs
