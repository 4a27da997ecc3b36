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

/// A storage, as described by its persistent id.
struct StorageId {
  TypeInfo type;
  std::string key;
  int64_t elements = 0;
  int64_t view_offset = 0;  // in elements: start of a part of the storage
  std::optional<int64_t> view_size;  // elements of the part
};

/// The call that creates a tensor, in a pickle.
struct TensorCall {
  NodeId args = kNoNode;  // a tuple
  bool v3 = false;        // of _rebuild_tensor_v3, which also has a type
};

/// A tensor as described by a pickle, not yet compared with its storage.
struct TensorId {
  TensorCall call;
  StorageId storage;
  TypeInfo type;
  /// The name of an unknown type; else empty. If set, shape, offset and strides
  /// count elements of this type, and `type` is a byte.
  std::string unknown_type;
  int64_t offset = 0;  // in elements, like strides
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool conjugate = false;
  bool negative = false;
};

/// Return the storage or tensor that a value represents; nullopt for another
/// value, or if its arguments do not fit.
std::optional<StorageId> AsStorage(const Pickle& pickle, NodeId node);
std::optional<TensorId> AsTensor(const Pickle& pickle, NodeId node);
/// Returns the tensor that a call creates; nullopt if the arguments do not fit.
std::optional<TensorId> TensorOf(const Pickle& pickle, TensorCall call);

/// A quantised tensor: its codes, and the parameters of the conversion.
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

/// A tensor on the meta device, without bytes.
struct MetaId {
  TypeInfo type;
  std::vector<int64_t> shape;
};
std::optional<MetaId> AsMeta(const Pickle& pickle, NodeId node);

/// Returns "module.name" of a global, or of the class that a persistent id
/// represents; empty for another value.
std::string_view GlobalName(const Pickle& pickle, NodeId node);
std::string_view CalleeName(const Pickle& pickle, NodeId node);

/// Returns the value of a text key among the first 64 entries of a dict;
/// kNoNode if missing. If these repeat the key, the last value counts, like in
/// Python.
NodeId Lookup(const Pickle& pickle, NodeId dict, std::string_view key);

/// Returns argument `index` of an object; kNoNode if there are fewer.
NodeId Argument(const Pickle& pickle, NodeId object, uint32_t index);

/// Returns an integer, saturated to int64; nullopt for another value.
std::optional<int64_t> AsInteger(const Pickle& pickle, NodeId node);
/// Returns the integers of a tuple, list or torch.Size; nullopt for another
/// value, or for more than kMaxRank integers.
std::optional<std::vector<int64_t>> AsIntegers(const Pickle& pickle,
                                               NodeId node);

}  // namespace ctxfs::torch
