// SPDX-License-Identifier: Apache-2.0
//
// Tensors in the value of a pickle: found by the name of their place, or
// written as their path in the tree.
#include <fmt/core.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/torch/limits.h"
#include "core/formats/torch/value_walk.h"

namespace ctxfs::torch {

void ValueWalk::Tensor(const TensorId& tensor, PlaceId place,
                       const std::string& part) {
  if (failed()) return;
  const size_t number = tensors_++;
  if (writes()) return text_.Value((*shown_at_)(number));
  if (found_->size() >= kMaxTensors) {
    return Fail(fmt::format("more than {} tensors", kMaxTensors));
  }
  std::string path = PathTo(place, kMaxTensorNames - name_bytes_);
  if (place == kRootPlace && prefix_.empty()) path = "tensor";
  const size_t size = prefix_.size() + path.size() + part.size();
  if (size > kMaxTensorNames - name_bytes_) {
    return Fail("the names of tensors are over the limit");
  }
  if (!MayTake(size)) return;
  std::string name;
  name.reserve(size);
  name.append(prefix_).append(path).append(part);
  name_bytes_ += size;
  if (Status may = AdmitGrowth(*found_); !may) {
    error_ = std::move(may).error();
    return;
  }
  found_->push_back({std::move(name), tensor.call});
}

void ValueWalk::TensorObject(const TensorId& tensor, PlaceId place,
                             const std::string& part) {
  text_.BeginObject();
  text_.Key("$tensor");
  Tensor(tensor, place, part);
  text_.EndObject();
}

void ValueWalk::Quantised(const QuantisedId& quantised, PlaceId place,
                          unsigned depth) {
  text_.BeginObject();
  text_.Key("$tensor");
  Tensor(quantised.codes, place, "");
  text_.Key("quantizer");
  text_.BeginObject();
  text_.Member("scheme", quantised.scheme);
  if (quantised.scales) {
    text_.Key("scales");
    TensorObject(*quantised.scales, place, ".scales");
    text_.Key("zero_points");
    TensorObject(*quantised.zero_points, place, ".zero_points");
    text_.Member("axis", quantised.axis);
  } else {
    text_.Key("scale");
    Value(quantised.scale, place, depth + 1);
    text_.Key("zero_point");
    Value(quantised.zero_point, place, depth + 1);
  }
  text_.EndObject();
  text_.EndObject();
}

void ValueWalk::Sparse(const SparseId& sparse, PlaceId place) {
  text_.BeginObject();
  text_.Key("$sparse");
  text_.BeginObject();
  text_.Member("layout", sparse.layout);
  text_.Key("shape");
  PutIntegers(sparse.shape);
  for (const auto& [name, tensor] : sparse.parts) {
    text_.Key(name);
    TensorObject(tensor, place, "." + name);
  }
  if (sparse.coalesced) text_.Member("coalesced", *sparse.coalesced);
  text_.EndObject();
  text_.EndObject();
}

void ValueWalk::Meta(const MetaId& meta) {
  text_.BeginObject();
  text_.Key("$meta");
  text_.BeginObject();
  text_.Member("dtype", DTypeName(meta.type.dtype));
  text_.Key("shape");
  PutIntegers(meta.shape);
  text_.EndObject();
  text_.EndObject();
}

void ValueWalk::Storage(const StorageId& storage) {
  text_.BeginObject();
  text_.Member("$storage", storage.key);
  text_.Member("dtype", DTypeName(storage.type.dtype));
  text_.Member("size", storage.elements);
  text_.EndObject();
}

}  // namespace ctxfs::torch
