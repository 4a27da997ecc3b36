// SPDX-License-Identifier: Apache-2.0
//
// Recognises torch's values in a pickle by the names of callables and the kinds
// of arguments (docs/formats/torch.md, section 5).
#include "core/formats/torch/objects.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

bool IsTrue(const Pickle& pickle, NodeId node) {
  return pickle.Is(node, Kind::kBool) && pickle.at(node).number != 0;
}

/// Returns the id if it is a tuple that starts with `what`; else kNoNode.
NodeId PersistentId(const Pickle& pickle, NodeId node, std::string_view what) {
  if (!pickle.Is(node, Kind::kPersistent)) return kNoNode;
  const NodeId id = pickle.at(node).first;
  const bool fits =
      pickle.Is(id, Kind::kTuple) && pickle.IsText(pickle.Child(id, 0), what);
  return fits ? id : kNoNode;
}

/// Returns "per_tensor_affine" for torch.per_tensor_affine; else empty.
std::string_view SchemeOf(const Pickle& pickle, NodeId node) {
  const std::string_view name = GlobalName(pickle, node);
  constexpr std::string_view kPrefix = "torch.per_";
  return name.starts_with(kPrefix) ? name.substr(6) : std::string_view();
}

struct Arguments {
  const Pickle& pickle;
  NodeId tuple;  // of the arguments

  NodeId operator[](uint32_t index) const { return pickle.Child(tuple, index); }
};

std::optional<SparseId> SparseParts(const Pickle& pickle, NodeId parts,
                                    std::string_view layout) {
  struct Fields {
    std::string_view layout;
    std::array<const char*, 3> names;  // null: there are only two
  };
  constexpr Fields kLayouts[] = {
      {"torch.sparse_coo", {"indices", "values", nullptr}},
      {"torch.sparse_csr", {"crow_indices", "col_indices", "values"}},
      {"torch.sparse_bsr", {"crow_indices", "col_indices", "values"}},
      {"torch.sparse_csc", {"ccol_indices", "row_indices", "values"}},
      {"torch.sparse_bsc", {"ccol_indices", "row_indices", "values"}}};
  const auto* const fields =
      std::ranges::find(kLayouts, layout, &Fields::layout);
  if (fields == std::end(kLayouts)) return std::nullopt;
  SparseId sparse;
  sparse.layout = layout;
  const Arguments of{pickle, parts};
  uint32_t at = 0;
  for (const char* name : fields->names) {
    if (name == nullptr) break;
    std::optional<TensorId> tensor = AsTensor(pickle, of[at++]);
    if (!tensor) return std::nullopt;
    sparse.parts.emplace_back(name, std::move(*tensor));
  }
  std::optional<std::vector<int64_t>> shape = AsIntegers(pickle, of[at++]);
  if (!shape) return std::nullopt;
  sparse.shape = std::move(*shape);
  const NodeId coalesced = of[at];
  if (fields->names[2] == nullptr && pickle.Is(coalesced, Kind::kBool)) {
    sparse.coalesced = IsTrue(pickle, coalesced);
  }
  return sparse;
}

}  // namespace

NodeId Lookup(const Pickle& pickle, NodeId dict, std::string_view key) {
  constexpr int kMaxLooked = 64;  // real dicts have a few keys
  NodeId found = kNoNode;
  uint32_t link = pickle.at(dict).first;
  for (int i = 0; i < kMaxLooked && link != kNoNode; ++i) {
    const NodeId name = pickle.Child(link);
    link = pickle.Next(link);
    if (link == kNoNode) break;
    if (pickle.IsText(name, key)) found = pickle.Child(link);
    link = pickle.Next(link);
  }
  return found;
}

std::string_view GlobalName(const Pickle& pickle, NodeId node) {
  if (pickle.Is(node, Kind::kPersistent)) {
    const NodeId id = PersistentId(pickle, node, "module");
    if (id == kNoNode) return {};
    node = pickle.Child(id, 1);
  }
  return pickle.Is(node, Kind::kGlobal) ? pickle.Text(node)
                                        : std::string_view();
}

std::string_view CalleeName(const Pickle& pickle, NodeId node) {
  if (!pickle.Is(node, Kind::kObject)) return {};
  return GlobalName(pickle, pickle.ObjectAt(node).callable);
}

NodeId Argument(const Pickle& pickle, NodeId object, uint32_t index) {
  return pickle.Child(pickle.ObjectAt(object).args, index);
}

std::optional<int64_t> AsInteger(const Pickle& pickle, NodeId node) {
  if (node == kNoNode) return std::nullopt;
  const Node& value = pickle.at(node);
  if (value.kind == Kind::kInt) return value.number;
  if (value.kind != Kind::kBigInt) return std::nullopt;
  const bool negative = (pickle.Text(node).back() & 0x80) != 0;
  return negative ? INT64_MIN : INT64_MAX;
}

std::optional<std::vector<int64_t>> AsIntegers(const Pickle& pickle,
                                               NodeId node) {
  if (CalleeName(pickle, node) == "torch.Size") {
    node = Argument(pickle, node, 0);
  }
  if (!pickle.IsSequence(node)) return std::nullopt;
  std::vector<int64_t> numbers;
  for (uint32_t link = pickle.at(node).first; link != kNoNode;
       link = pickle.Next(link)) {
    const std::optional<int64_t> number = AsInteger(pickle, pickle.Child(link));
    if (!number || numbers.size() == kMaxRank) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<StorageId> AsStorage(const Pickle& pickle, NodeId node) {
  const NodeId id = PersistentId(pickle, node, "storage");
  if (id == kNoNode) return std::nullopt;
  const std::optional<TypeInfo> type =
      StorageType(GlobalName(pickle, pickle.Child(id, 1)));
  const NodeId key = pickle.Child(id, 2);
  const std::optional<int64_t> elements =
      AsInteger(pickle, pickle.Child(id, 4));
  if (!type || !elements || key == kNoNode) return std::nullopt;
  StorageId storage;
  storage.type = *type;
  storage.elements = *elements;
  if (pickle.Is(key, Kind::kText)) {
    if (pickle.Text(key).size() > kMaxKeyBytes) return std::nullopt;
    storage.key = pickle.Text(key);
  } else if (pickle.Is(key, Kind::kInt)) {
    storage.key = std::to_string(pickle.at(key).number);
  } else {
    return std::nullopt;
  }
  const NodeId view = pickle.Child(id, 5);
  if (pickle.Is(view, Kind::kTuple)) {
    const std::optional<int64_t> offset =
        AsInteger(pickle, pickle.Child(view, 1));
    storage.view_size = AsInteger(pickle, pickle.Child(view, 2));
    if (!offset || !storage.view_size) return std::nullopt;
    storage.view_offset = *offset;
  }
  return storage;
}

std::optional<TensorId> AsTensor(const Pickle& pickle, NodeId node) {
  // Maximum number of nested wrappers. Real files have at most two.
  constexpr int kMaxWrappers = 8;
  for (int i = 0; i < kMaxWrappers && node != kNoNode; ++i) {
    const std::string_view name = CalleeName(pickle, node);
    if (name.empty()) return std::nullopt;
    NodeId args = pickle.ObjectAt(node).args;
    std::string_view function = UtilsName(name);
    if (name == "torch._tensor._rebuild_from_type_v2") {
      function = UtilsName(GlobalName(pickle, pickle.Child(args, 0)));
      args = pickle.Child(args, 2);
      if (!pickle.Is(args, Kind::kTuple)) return std::nullopt;
    }
    if (function == "_rebuild_parameter" ||
        function == "_rebuild_parameter_with_state" ||
        function == "_rebuild_device_tensor_from_cpu_tensor") {
      node = pickle.Child(args, 0);
      continue;
    }
    const bool v3 = function == "_rebuild_tensor_v3";
    if (!v3 && function != "_rebuild_tensor_v2" &&
        function != "_rebuild_tensor") {
      return std::nullopt;
    }
    return TensorOf(pickle, {args, v3});
  }
  return std::nullopt;
}

std::optional<TensorId> TensorOf(const Pickle& pickle, TensorCall call) {
  const Arguments of{pickle, call.args};
  std::optional<StorageId> storage = AsStorage(pickle, of[0]);
  const std::optional<int64_t> offset = AsInteger(pickle, of[1]);
  std::optional<std::vector<int64_t>> shape = AsIntegers(pickle, of[2]);
  std::optional<std::vector<int64_t>> strides = AsIntegers(pickle, of[3]);
  if (!storage || !offset || !shape || !strides) return std::nullopt;
  TensorId tensor;
  tensor.call = call;
  tensor.type = storage->type;
  if (call.v3) {
    const std::string_view name = GlobalName(pickle, of[6]);
    const std::optional<TypeInfo> type = TorchType(name);
    if (!type && !LooksLikeTorchType(name)) return std::nullopt;
    if (!type) tensor.unknown_type = name;
    tensor.type = type.value_or(TypeInfo{"unknown", DType::kU8, true});
  }
  tensor.storage = std::move(*storage);
  tensor.offset = *offset;
  tensor.shape = std::move(*shape);
  tensor.strides = std::move(*strides);
  const NodeId metadata = of[call.v3 ? 7 : 6];
  if (pickle.Is(metadata, Kind::kDict)) {
    tensor.conjugate = IsTrue(pickle, Lookup(pickle, metadata, "conj"));
    tensor.negative = IsTrue(pickle, Lookup(pickle, metadata, "neg"));
  }
  return tensor;
}

std::optional<QuantisedId> AsQuantised(const Pickle& pickle, NodeId node) {
  if (CalleeName(pickle, node) != "torch._utils._rebuild_qtensor") {
    return std::nullopt;
  }
  const NodeId args = pickle.ObjectAt(node).args;
  std::optional<TensorId> codes = TensorOf(pickle, {.args = args});
  const NodeId quantizer = pickle.Child(args, 4);
  if (!codes || !pickle.Is(quantizer, Kind::kTuple)) return std::nullopt;
  QuantisedId quantised;
  quantised.codes = std::move(*codes);
  const Arguments of{pickle, quantizer};
  quantised.scheme = SchemeOf(pickle, of[0]);
  if (quantised.scheme.empty()) return std::nullopt;
  if (quantised.scheme.starts_with("per_tensor")) {
    quantised.scale = of[1];
    quantised.zero_point = of[2];
    if (quantised.scale == kNoNode || quantised.zero_point == kNoNode) {
      return std::nullopt;
    }
    return quantised;
  }
  quantised.scales = AsTensor(pickle, of[1]);
  quantised.zero_points = AsTensor(pickle, of[2]);
  const std::optional<int64_t> axis = AsInteger(pickle, of[3]);
  if (!quantised.scales || !quantised.zero_points || !axis) {
    return std::nullopt;
  }
  quantised.axis = *axis;
  return quantised;
}

std::optional<SparseId> AsSparse(const Pickle& pickle, NodeId node) {
  if (CalleeName(pickle, node) != "torch._utils._rebuild_sparse_tensor") {
    return std::nullopt;
  }
  const NodeId layout = Argument(pickle, node, 0);
  const NodeId parts = Argument(pickle, node, 1);
  if (!pickle.Is(parts, Kind::kTuple) ||
      CalleeName(pickle, layout) != "torch.serialization._get_layout") {
    return std::nullopt;
  }
  const NodeId name = Argument(pickle, layout, 0);
  if (!pickle.Is(name, Kind::kText)) return std::nullopt;
  return SparseParts(pickle, parts, pickle.Text(name));
}

std::optional<MetaId> AsMeta(const Pickle& pickle, NodeId node) {
  if (CalleeName(pickle, node) !=
      "torch._utils._rebuild_meta_tensor_no_storage") {
    return std::nullopt;
  }
  const std::optional<TypeInfo> type =
      TorchType(GlobalName(pickle, Argument(pickle, node, 0)));
  std::optional<std::vector<int64_t>> shape =
      AsIntegers(pickle, Argument(pickle, node, 1));
  if (!type || !shape) return std::nullopt;
  return MetaId{*type, std::move(*shape)};
}

}  // namespace ctxfs::torch
