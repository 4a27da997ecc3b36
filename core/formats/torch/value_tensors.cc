// SPDX-License-Identifier: Apache-2.0
//
// Tensors in the value of a pickle: found under the name of their place, or
// written as the path that they are shown at.
#include <utility>

#include "core/formats/torch/limits.h"
#include "core/formats/torch/value_walk.h"

namespace ctxfs::torch {

void ValueWalk::Tensor(const TensorId& tensor, PlaceId place,
                       const std::string& part) {
  if (failed()) return;
  const size_t number = tensors_++;
  if (writes()) return text_.String((*shown_at_)(number));
  if (found_->size() >= kMostTensors) {
    return Fail("more than " + std::to_string(kMostTensors) + " tensors");
  }
  std::string name = PathTo(place, kMostTensorNames - name_bytes_);
  if (place == kRootPlace && prefix_.empty()) name = "tensor";
  name = prefix_ + name + part;
  if (name.size() > kMostTensorNames - name_bytes_) {
    return Fail("the names of tensors are over the limit");
  }
  name_bytes_ += name.size();
  found_->push_back({std::move(name), tensor.call});
}

void ValueWalk::TensorObject(const TensorId& tensor, PlaceId place,
                             const std::string& part) {
  text_.Put("{\"$tensor\":");
  Tensor(tensor, place, part);
  text_.Put("}");
}

void ValueWalk::Quantised(const QuantisedId& quantised, PlaceId place,
                          unsigned depth) {
  text_.Put("{\"$tensor\":");
  Tensor(quantised.codes, place, "");
  text_.Put(",\"quantizer\":{\"scheme\":");
  text_.String(quantised.scheme);
  if (quantised.scales) {
    PutMember("scales");
    TensorObject(*quantised.scales, place, ".scales");
    PutMember("zero_points");
    TensorObject(*quantised.zero_points, place, ".zero_points");
    PutMember("axis");
    text_.Integer(quantised.axis);
  } else {
    PutMember("scale");
    Value(quantised.scale, place, depth + 1);
    PutMember("zero_point");
    Value(quantised.zero_point, place, depth + 1);
  }
  text_.Put("}}");
}

void ValueWalk::Sparse(const SparseId& sparse, PlaceId place) {
  text_.Put("{\"$sparse\":{\"layout\":");
  text_.String(sparse.layout);
  PutMember("shape");
  PutIntegers(sparse.shape);
  for (const auto& [name, tensor] : sparse.parts) {
    PutMember(name.c_str());
    TensorObject(tensor, place, "." + name);
  }
  if (sparse.coalesced) {
    PutMember("coalesced");
    text_.Put(*sparse.coalesced ? "true" : "false");
  }
  text_.Put("}}");
}

void ValueWalk::Meta(const MetaId& meta) {
  text_.Put("{\"$meta\":{\"dtype\":");
  text_.String(DTypeName(meta.type.dtype));
  PutMember("shape");
  PutIntegers(meta.shape);
  text_.Put("}}");
}

void ValueWalk::Storage(const StorageId& storage) {
  text_.Put("{\"$storage\":");
  text_.String(storage.key);
  PutMember("dtype");
  text_.String(DTypeName(storage.type.dtype));
  PutMember("size");
  text_.Integer(storage.elements);
  text_.Put("}");
}

}  // namespace ctxfs::torch
