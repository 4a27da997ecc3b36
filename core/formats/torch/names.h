// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/dtype.h"

namespace ctxfs::torch {

/// An element type of torch.
struct TypeInfo {
  std::string_view name;  // "float32"
  DType dtype = DType::kU8;
  bool bits = false;  // ctxfs lacks the type: dtype is that of its bytes
};

/// Returns the type `name`, such as "torch.float32"; nullopt for another name.
std::optional<TypeInfo> TorchType(std::string_view name);
/// Whether `name` looks like a type, such as "torch.float6_e3m2fn": later
/// versions of PyTorch may have types that TorchType lacks.
bool LooksLikeTorchType(std::string_view name);
/// Returns the type of a storage class such as "torch.FloatStorage".
std::optional<TypeInfo> StorageType(std::string_view name);
/// Whether a name is safe by docs/formats/torch.md, section 12.
bool IsKnownName(std::string_view name);
/// Returns "module.name", with the current name of a renamed module.
std::string NameOfGlobal(std::string_view module, std::string_view name);
/// Returns "_rebuild_tensor" of "torch._utils._rebuild_tensor"; else empty.
std::string_view UtilsName(std::string_view name);

}  // namespace ctxfs::torch
