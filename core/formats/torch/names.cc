// SPDX-License-Identifier: Apache-2.0
//
// Names of torch and Python that have a meaning (docs/formats/torch.md, section
// 5). Names are looked up in tables; nothing is imported.
#include "core/formats/torch/names.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace ctxfs::torch {
namespace {

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

// Storage classes, without the suffix "Storage". The first ten also exist as
// tensor classes, with the suffix "Tensor".
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

constexpr size_t kTensorClasses = 10;

/// Sorts names for a binary search: a pickle can have millions of names, each
/// of which is looked up.
template <size_t kCount>
constexpr std::array<std::string_view, kCount> Sorted(
    std::array<std::string_view, kCount> names) {
  std::ranges::sort(names);
  return names;
}

constexpr auto kOtherNames = Sorted(std::to_array<std::string_view>({
    "torch.Tensor",
    "torch.nn.parameter.Parameter",
    "torch.storage.TypedStorage",
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
    "torch._utils._rebuild_tensor",
    "torch._utils._rebuild_tensor_v2",
    "torch._utils._rebuild_tensor_v3",
    "torch._utils._rebuild_parameter",
    "torch._utils._rebuild_parameter_with_state",
    "torch._utils._rebuild_device_tensor_from_cpu_tensor",
    "torch._utils._rebuild_qtensor",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_sparse_csr_tensor",
    "torch._utils._rebuild_wrapper_subclass",
    "torch._utils._rebuild_device_tensor_from_numpy",
}));

/// Returns "Float" for "torch.cuda.FloatStorage" if `suffix` is "Storage" and
/// `modules` has "torch.cuda"; empty for another name.
std::string_view ClassOf(std::string_view name, std::string_view suffix,
                         std::initializer_list<std::string_view> modules) {
  if (!name.ends_with(suffix)) return {};
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos ||
      std::ranges::find(modules, name.substr(0, dot)) == modules.end()) {
    return {};
  }
  name.remove_suffix(suffix.size());
  return name.substr(dot + 1);
}

bool IsTensorClass(std::string_view name) {
  const std::string_view found =
      ClassOf(name, "Tensor",
              {"torch", "torch.cuda", "torch.sparse", "torch.cuda.sparse"});
  if (found.empty()) return false;
  return std::any_of(kStorages.begin(), kStorages.begin() + kTensorClasses,
                     [&](const auto& row) { return row.first == found; });
}

std::optional<TypeInfo> TypeCalled(std::string_view name) {
  for (const auto& [alias, meant] : kAliases) {
    if (alias == name) return TypeCalled(meant);
  }
  for (const TypeInfo& type : kTypes) {
    if (type.name == name) return type;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TypeInfo> TorchType(std::string_view name) {
  constexpr std::string_view kPrefix = "torch.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return TypeCalled(name.substr(kPrefix.size()));
}

bool LooksLikeTorchType(std::string_view name) {
  constexpr size_t kMaxBytes = 64;
  constexpr std::string_view kKinds[] = {
      "torch.bfloat", "torch.float", "torch.int",  "torch.uint",
      "torch.qint",   "torch.quint", "torch.bits", "torch.complex"};
  constexpr std::string_view kDigits = "0123456789";
  constexpr std::string_view kRest = "abcdefghijklmnopqrstuvwxyz0123456789_";
  if (name.size() > kMaxBytes) return false;
  return std::ranges::any_of(kKinds, [&](std::string_view kind) {
    if (!name.starts_with(kind)) return false;
    const std::string_view rest = name.substr(kind.size());
    return !rest.empty() && kDigits.find(rest[0]) != std::string_view::npos &&
           rest.find_first_not_of(kRest) == std::string_view::npos;
  });
}

std::optional<TypeInfo> StorageType(std::string_view name) {
  if (name == "torch.storage.UntypedStorage") return TypeCalled("uint8");
  const std::string_view found =
      ClassOf(name, "Storage", {"torch.storage", "torch.cuda", "torch"});
  if (found.empty()) return std::nullopt;
  for (const auto& [storage, type] : kStorages) {
    if (storage == found) return TypeCalled(type);
  }
  return std::nullopt;
}

bool IsKnownName(std::string_view name) {
  return TorchType(name) || LooksLikeTorchType(name) || StorageType(name) ||
         IsTensorClass(name) || std::ranges::binary_search(kOtherNames, name);
}

std::string NameOfGlobal(std::string_view module, std::string_view name) {
  if (module == "__builtin__") module = "builtins";
  if (module == "torch.tensor") module = "torch._tensor";
  std::string text(module);
  text += '.';
  text += name;
  return text;
}

std::string_view UtilsName(std::string_view name) {
  constexpr std::string_view kUtils = "torch._utils.";
  return name.starts_with(kUtils) ? name.substr(kUtils.size())
                                  : std::string_view();
}

}  // namespace ctxfs::torch
