// SPDX-License-Identifier: Apache-2.0
#include "core/formats/torch/value.h"

#include "core/formats/torch/value_walk.h"

namespace ctxfs::torch {

Status FindTensors(const Pickle& pickle, const std::string& prefix,
                   const ReadContext& context,
                   std::vector<FoundTensor>& found) {
  return ValueWalk(pickle, context, prefix, found).Walk();
}

Result<std::string> ValueText(const Pickle& pickle, const TensorPath& path,
                              const ReadContext& context) {
  ValueWalk walk(pickle, context, path);
  if (Status walked = walk.Walk(); !walked) return std::move(walked).error();
  return walk.TakeText() + "\n";
}

}  // namespace ctxfs::torch
