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
  TensorCall tensor;  // smaller than a TensorId: there may be a million
};

/// Appends the tensors of a pickle's value to `found`, in value order; a tensor
/// at several places is found at each. `prefix` precedes all names. `found` may
/// hold at most kMaxTensors. Fails with kLimit if the value is too deep
/// ("pickle_depth") or too large, or has too many tensors or too long names.
Status FindTensors(const Pickle& pickle, const std::string& prefix,
                   const ReadContext& context, std::vector<FoundTensor>& found);

/// Returns the path below tensors/ of the n-th tensor that FindTensors finds.
using TensorPath = std::function<const std::string&(size_t)>;

/// Returns a pickle's value as JSON (docs/formats/torch.md, section 8). Fails
/// with kLimit beyond kMaxValueText bytes of text, and as FindTensors does.
Result<std::string> ValueText(const Pickle& pickle, const TensorPath& path,
                              const ReadContext& context);

}  // namespace ctxfs::torch
