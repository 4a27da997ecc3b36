// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/formats/torch/objects.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// A tensor at its place in a pickle's value.
struct FoundTensor {
  std::string
      name;  // the keys that lead to it (docs/formats/torch.md, section 9)
  TensorCall tensor;  // not a TensorId: a tensor may have a million places
};

/// Finds the tensors of a pickle's value, in its order; one that has several
/// places is found at each. `prefix` is put before all names. Adds to `found`,
/// which may hold at most kMaxTensors. Fails with kLimit for a value that is
/// too deep ("pickle_depth"), too large, or has too many tensors.
Status FindTensors(const Pickle& pickle, const std::string& prefix,
                   const ReadContext& context, std::vector<FoundTensor>& found);

/// The path below tensors/ of the n-th tensor that FindTensors finds.
using TensorPath = std::function<const std::string&(size_t)>;

/// A pickle's value as JSON (docs/formats/torch.md, section 8). Fails with
/// kLimit for more than kMaxValueText bytes of text, and as FindTensors.
Result<std::string> ValueText(const Pickle& pickle, const TensorPath& path,
                              const ReadContext& context);

}  // namespace ctxfs::torch
