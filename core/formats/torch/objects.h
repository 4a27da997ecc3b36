// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/formats/torch/names.h"
#include "core/formats/torch/pickle.h"

namespace ctxfs::torch {

/// A storage, as its persistent id describes it.
struct StorageId {
  TypeInfo type;
  std::string key;
  int64_t elements = 0;
  int64_t view_offset = 0;  // in elements: where the part that is meant starts
  std::optional<int64_t> view_size;  // its elements
};

/// The call that makes a tensor, in a pickle.
struct TensorCall {
  NodeId args = kNoNode;  // a tuple
  bool v3 = false;        // of _rebuild_tensor_v3, which has a type too
};

/// A tensor as a pickle describes it; nothing is checked against its storage.
struct TensorId {
  TensorCall call;
  StorageId storage;
  TypeInfo type;
  /// The name of a type that is not known: shape, offset and strides are in
  /// elements of it, and `type` is that of bytes. Else empty.
  std::string unknown_type;
  int64_t offset = 0;  // in elements of `type`, as are strides
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool conjugate = false;
  bool negative = false;
};

/// The storage or tensor that a value of a pickle is; nullopt if it is none, or
/// if its arguments do not fit.
std::optional<StorageId> AsStorage(const Pickle& pickle, NodeId node);
std::optional<TensorId> AsTensor(const Pickle& pickle, NodeId node);
/// The tensor of a call; nullopt if the arguments do not fit.
std::optional<TensorId> TensorOf(const Pickle& pickle, TensorCall call);

/// A quantised tensor: its codes, and how they become numbers.
struct QuantisedId {
  TensorId codes;
  std::string scheme;              // "per_tensor_affine", ...
  NodeId scale = kNoNode;          // a number
  NodeId zero_point = kNoNode;     // a number
  std::optional<TensorId> scales;  // of a scheme with an axis
  std::optional<TensorId> zero_points;
  int64_t axis = 0;
};
std::optional<QuantisedId> AsQuantised(const Pickle& pickle, NodeId node);

/// A sparse tensor: dense tensors by name.
struct SparseId {
  std::string layout;
  std::vector<int64_t> shape;
  std::vector<std::pair<std::string, TensorId>> parts;
  std::optional<bool> coalesced;
};
std::optional<SparseId> AsSparse(const Pickle& pickle, NodeId node);

/// A tensor without bytes.
struct MetaId {
  TypeInfo type;
  std::vector<int64_t> shape;
};
std::optional<MetaId> AsMeta(const Pickle& pickle, NodeId node);

/// The "module.name" of a global, or of a class that a persistent id stands
/// for; empty for another value.
std::string_view GlobalName(const Pickle& pickle, NodeId node);
/// The GlobalName of an object's callable.
std::string_view CalleeName(const Pickle& pickle, NodeId node);

/// The value of a text key in a short dict, of several the last, as in Python;
/// kNoNode if it has none.
NodeId Lookup(const Pickle& pickle, NodeId dict, std::string_view key);

/// Argument `index` of an object; kNoNode if it has fewer.
NodeId Argument(const Pickle& pickle, NodeId object, uint32_t index);

/// The number that a value is; a large one saturates. nullopt for another
/// value.
std::optional<int64_t> AsInteger(const Pickle& pickle, NodeId node);
/// The numbers of a tuple, list or torch.Size.
std::optional<std::vector<int64_t>> AsIntegers(const Pickle& pickle,
                                               NodeId node);

}  // namespace ctxfs::torch
