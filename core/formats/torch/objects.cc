// SPDX-License-Identifier: Apache-2.0
//
// What some names in a pickle mean (docs/torch.md, section 5). They are
// compared with tables; nothing is imported.
#include "core/formats/torch/objects.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/formats/torch/limits.h"

namespace ctxfs::torch {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kUtils = "torch._utils.";

constexpr auto kTypes = std::to_array<TypeInfo>({
    {"float32", DType::kF32},
    {"float64", DType::kF64},
    {"float16", DType::kF16},
    {"bfloat16", DType::kBf16},
    {"uint8", DType::kU8},
    {"int8", DType::kI8},
    {"int16", DType::kI16},
    {"int32", DType::kI32},
    {"int64", DType::kI64},
    {"bool", DType::kBool},
    {"complex32", DType::kC32},
    {"complex64", DType::kC64},
    {"complex128", DType::kC128},
    {"uint16", DType::kU16},
    {"uint32", DType::kU32},
    {"uint64", DType::kU64},
    {"float8_e4m3fn", DType::kF8E4M3},
    {"float8_e5m2", DType::kF8E5M2},
    {"float8_e4m3fnuz", DType::kF8E4M3Fnuz},
    {"float8_e5m2fnuz", DType::kF8E5M2Fnuz},
    {"float8_e8m0fnu", DType::kF8E8M0},
    {"qint8", DType::kI8},
    {"quint8", DType::kU8},
    {"qint32", DType::kI32},
    {"quint4x2", DType::kU8, true},
    {"quint2x4", DType::kU8, true},
    {"float4_e2m1fn_x2", DType::kU8, true},
    {"bits8", DType::kU8, true},
    {"bits1x8", DType::kU8, true},
    {"bits2x4", DType::kU8, true},
    {"bits4x2", DType::kU8, true},
    {"bits16", DType::kU16, true},
    {"int1", DType::kU8, true},
    {"int2", DType::kU8, true},
    {"int3", DType::kU8, true},
    {"int4", DType::kU8, true},
    {"int5", DType::kU8, true},
    {"int6", DType::kU8, true},
    {"int7", DType::kU8, true},
    {"uint1", DType::kU8, true},
    {"uint2", DType::kU8, true},
    {"uint3", DType::kU8, true},
    {"uint4", DType::kU8, true},
    {"uint5", DType::kU8, true},
    {"uint6", DType::kU8, true},
    {"uint7", DType::kU8, true},
});

constexpr auto kAliases =
    std::to_array<std::pair<std::string_view, std::string_view>>({
        {"float", "float32"},
        {"double", "float64"},
        {"half", "float16"},
        {"short", "int16"},
        {"int", "int32"},
        {"long", "int64"},
        {"chalf", "complex32"},
        {"cfloat", "complex64"},
        {"cdouble", "complex128"},
    });

// Storage classes, without the "Storage" at their end.
constexpr auto kStorages =
    std::to_array<std::pair<std::string_view, std::string_view>>({
        {"Double", "float64"},
        {"Float", "float32"},
        {"Half", "float16"},
        {"Long", "int64"},
        {"Int", "int32"},
        {"Short", "int16"},
        {"Char", "int8"},
        {"Byte", "uint8"},
        {"Bool", "bool"},
        {"BFloat16", "bfloat16"},
        {"ComplexDouble", "complex128"},
        {"ComplexFloat", "complex64"},
        {"QInt8", "qint8"},
        {"QUInt8", "quint8"},
        {"QInt32", "qint32"},
        {"QUInt4x2", "quint4x2"},
        {"QUInt2x4", "quint2x4"},
    });

constexpr auto kOtherNames = std::to_array<std::string_view>({
    "torch._tensor._rebuild_from_type_v2",
    "torch.device",
    "torch.Size",
    "torch.serialization._get_layout",
    "torch.per_tensor_affine",
    "torch.per_tensor_symmetric",
    "torch.per_channel_affine",
    "torch.per_channel_symmetric",
    "torch.per_channel_affine_float_qparams",
    "collections.OrderedDict",
    "collections.Counter",
    "builtins.set",
    "builtins.frozenset",
    "builtins.bytearray",
    "builtins.complex",
    "_codecs.encode",
    "torch.jit._pickle.build_intlist",
    "torch.jit._pickle.build_doublelist",
    "torch.jit._pickle.build_boollist",
    "torch.jit._pickle.build_tensorlist",
    "torch.jit._pickle.restore_type_tag",
});

constexpr auto kRebuilders = std::to_array<std::string_view>({
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_qtensor",
    "_rebuild_sparse_tensor",
    "_rebuild_meta_tensor_no_storage",
});

std::optional<TypeInfo> TypeCalled(std::string_view name) {
  for (const auto& [alias, meant] : kAliases) {
    if (alias == name) return TypeCalled(meant);
  }
  for (const TypeInfo& type : kTypes) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

bool IsTrue(const Pickle& pickle, NodeId node) {
  return node != kNoNode && pickle.at(node).kind == Kind::kBool &&
         pickle.at(node).number != 0;
}

/// The value of a text key in a dict; kNoNode if it has none.
NodeId Lookup(const Pickle& pickle, NodeId dict, std::string_view key) {
  constexpr int kMostLooked = 64;  // real ones have two keys
  NodeId found = kNoNode;
  uint32_t link = pickle.at(dict).first;
  for (int i = 0; i < kMostLooked && link != kNoNode; ++i) {
    const NodeId name = pickle.Child(link);
    link = pickle.Next(link);
    if (link == kNoNode) break;
    if (pickle.IsText(name, key)) found = pickle.Child(link);
    link = pickle.Next(link);
  }
  return found;
}

/// "per_tensor_affine" of torch.per_tensor_affine; empty for another value.
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

/// A tensor that `function` makes of `args`.
std::optional<TensorId> Rebuilt(const Pickle& pickle, std::string_view function,
                                NodeId args) {
  const bool v3 = function == "_rebuild_tensor_v3";
  if (!v3 && function != "_rebuild_tensor_v2" &&
      function != "_rebuild_tensor") {
    return std::nullopt;
  }
  const Arguments of{pickle, args};
  std::optional<StorageId> storage = AsStorage(pickle, of[0]);
  const std::optional<int64_t> offset = AsInteger(pickle, of[1]);
  std::optional<std::vector<int64_t>> shape = AsIntegers(pickle, of[2]);
  std::optional<std::vector<int64_t>> strides = AsIntegers(pickle, of[3]);
  if (!storage || !offset || !shape || !strides) return std::nullopt;
  TensorId tensor;
  tensor.type = storage->type;
  if (v3) {
    const std::optional<TypeInfo> type = TorchType(GlobalName(pickle, of[6]));
    if (!type) return std::nullopt;
    tensor.type = *type;
  }
  tensor.storage = std::move(*storage);
  tensor.offset = *offset;
  tensor.shape = std::move(*shape);
  tensor.strides = std::move(*strides);
  const NodeId metadata = of[v3 ? 7 : 6];
  if (metadata != kNoNode && pickle.at(metadata).kind == Kind::kDict) {
    tensor.conjugate = IsTrue(pickle, Lookup(pickle, metadata, "conj"));
    tensor.negative = IsTrue(pickle, Lookup(pickle, metadata, "neg"));
  }
  return tensor;
}

/// The name of a callable without "torch._utils."; empty for another.
std::string_view UtilsName(std::string_view name) {
  return name.starts_with(kUtils) ? name.substr(kUtils.size())
                                  : std::string_view();
}

std::optional<SparseId> SparseParts(const Pickle& pickle, NodeId parts,
                                    std::string layout) {
  static const std::vector<
      std::pair<std::string_view, std::array<const char*, 3>>>
      kLayouts = {
          {"torch.sparse_csr", {"crow_indices", "col_indices", "values"}},
          {"torch.sparse_bsr", {"crow_indices", "col_indices", "values"}},
          {"torch.sparse_csc", {"ccol_indices", "row_indices", "values"}},
          {"torch.sparse_bsc", {"ccol_indices", "row_indices", "values"}}};
  std::vector<const char*> names;
  if (layout == "torch.sparse_coo") names = {"indices", "values"};
  for (const auto& [name, fields] : kLayouts) {
    if (name == layout) names.assign(fields.begin(), fields.end());
  }
  if (names.empty()) return std::nullopt;
  SparseId sparse;
  sparse.layout = std::move(layout);
  const Arguments of{pickle, parts};
  uint32_t at = 0;
  for (const char* name : names) {
    std::optional<TensorId> tensor = AsTensor(pickle, of[at++]);
    if (!tensor) return std::nullopt;
    sparse.parts.emplace_back(name, std::move(*tensor));
  }
  std::optional<std::vector<int64_t>> shape = AsIntegers(pickle, of[at++]);
  if (!shape) return std::nullopt;
  sparse.shape = std::move(*shape);
  const NodeId coalesced = of[at];
  if (names.size() == 2 && coalesced != kNoNode &&
      pickle.at(coalesced).kind == Kind::kBool) {
    sparse.coalesced = IsTrue(pickle, coalesced);
  }
  return sparse;
}

}  // namespace

std::optional<TypeInfo> TorchType(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return TypeCalled(name.substr(kPrefix.size()));
}

std::optional<TypeInfo> StorageType(std::string_view name) {
  constexpr std::string_view kSuffix = "Storage";
  if (name == "torch.storage.UntypedStorage") return TypeCalled("uint8");
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  bool found = false;
  for (const std::string_view prefix :
       {"torch.storage.", "torch.cuda.", "torch."}) {
    if (!found && name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      found = true;
    }
  }
  if (!found) return std::nullopt;
  for (const auto& [storage, type] : kStorages) {
    if (storage == name) return TypeCalled(type);
  }
  return std::nullopt;
}

bool IsKnownName(std::string_view name) {
  const std::string_view utils = UtilsName(name);
  return TorchType(name) || StorageType(name) ||
         std::find(kOtherNames.begin(), kOtherNames.end(), name) !=
             kOtherNames.end() ||
         std::find(kRebuilders.begin(), kRebuilders.end(), utils) !=
             kRebuilders.end();
}

std::string_view GlobalName(const Pickle& pickle, NodeId node) {
  if (node == kNoNode) return {};
  if (pickle.at(node).kind == Kind::kPersistent) {
    const NodeId id = pickle.at(node).first;
    if (pickle.at(id).kind != Kind::kTuple ||
        !pickle.IsText(pickle.Child(id, 0), "module")) {
      return {};
    }
    node = pickle.Child(id, 1);
    if (node == kNoNode) return {};
  }
  return pickle.at(node).kind == Kind::kGlobal ? pickle.Text(node)
                                               : std::string_view();
}

std::string_view CalleeName(const Pickle& pickle, NodeId node) {
  if (pickle.at(node).kind != Kind::kObject) return {};
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
  if (node == kNoNode) return std::nullopt;
  if (CalleeName(pickle, node) == "torch.Size") {
    node = Argument(pickle, node, 0);
    if (node == kNoNode) return std::nullopt;
  }
  const Kind kind = pickle.at(node).kind;
  if (kind != Kind::kTuple && kind != Kind::kList) return std::nullopt;
  std::vector<int64_t> numbers;
  for (uint32_t link = pickle.at(node).first; link != kNoNode;
       link = pickle.Next(link)) {
    const std::optional<int64_t> number = AsInteger(pickle, pickle.Child(link));
    if (!number || numbers.size() == kMostRank) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<StorageId> AsStorage(const Pickle& pickle, NodeId node) {
  if (node == kNoNode || pickle.at(node).kind != Kind::kPersistent) {
    return std::nullopt;
  }
  const NodeId id = pickle.at(node).first;
  if (pickle.at(id).kind != Kind::kTuple ||
      !pickle.IsText(pickle.Child(id, 0), "storage")) {
    return std::nullopt;
  }
  const std::optional<TypeInfo> type =
      StorageType(GlobalName(pickle, pickle.Child(id, 1)));
  const NodeId key = pickle.Child(id, 2);
  const std::optional<int64_t> elements =
      AsInteger(pickle, pickle.Child(id, 4));
  if (!type || !elements || key == kNoNode) return std::nullopt;
  StorageId storage;
  storage.type = *type;
  storage.elements = *elements;
  if (pickle.at(key).kind == Kind::kText) {
    storage.key = pickle.Text(key);
  } else if (pickle.at(key).kind == Kind::kInt) {
    storage.key = std::to_string(pickle.at(key).number);
  } else {
    return std::nullopt;
  }
  const NodeId view = pickle.Child(id, 5);
  if (view != kNoNode && pickle.at(view).kind == Kind::kTuple) {
    const std::optional<int64_t> offset =
        AsInteger(pickle, pickle.Child(view, 1));
    storage.view_size = AsInteger(pickle, pickle.Child(view, 2));
    if (!offset || !storage.view_size) return std::nullopt;
    storage.view_offset = *offset;
  }
  return storage;
}

std::optional<TensorId> AsTensor(const Pickle& pickle, NodeId node) {
  // Wrappers around wrappers: real files have at most two.
  constexpr int kMostWrappers = 8;
  for (int i = 0; i < kMostWrappers && node != kNoNode; ++i) {
    const std::string_view name = CalleeName(pickle, node);
    if (name.empty()) return std::nullopt;
    NodeId args = pickle.ObjectAt(node).args;
    std::string_view function = UtilsName(name);
    if (name == "torch._tensor._rebuild_from_type_v2") {
      function = UtilsName(GlobalName(pickle, pickle.Child(args, 0)));
      args = pickle.Child(args, 2);
      if (args == kNoNode || pickle.at(args).kind != Kind::kTuple) {
        return std::nullopt;
      }
    }
    if (function == "_rebuild_parameter" ||
        function == "_rebuild_parameter_with_state" ||
        function == "_rebuild_device_tensor_from_cpu_tensor") {
      node = pickle.Child(args, 0);
      continue;
    }
    return Rebuilt(pickle, function, args);
  }
  return std::nullopt;
}

std::optional<QuantisedId> AsQuantised(const Pickle& pickle, NodeId node) {
  if (CalleeName(pickle, node) != "torch._utils._rebuild_qtensor") {
    return std::nullopt;
  }
  const NodeId args = pickle.ObjectAt(node).args;
  std::optional<TensorId> codes = Rebuilt(pickle, "_rebuild_tensor", args);
  const NodeId quantizer = pickle.Child(args, 4);
  if (!codes || quantizer == kNoNode ||
      pickle.at(quantizer).kind != Kind::kTuple) {
    return std::nullopt;
  }
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
  if (layout == kNoNode || parts == kNoNode ||
      pickle.at(parts).kind != Kind::kTuple ||
      CalleeName(pickle, layout) != "torch.serialization._get_layout") {
    return std::nullopt;
  }
  const NodeId name = Argument(pickle, layout, 0);
  if (name == kNoNode || pickle.at(name).kind != Kind::kText) {
    return std::nullopt;
  }
  return SparseParts(pickle, parts, std::string(pickle.Text(name)));
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
