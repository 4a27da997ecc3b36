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
  bool bits = false;  // ctxfs has no such type: dtype is that of stored bytes
};

/// The type called `name`, such as "torch.float32"; nullopt for another name.
std::optional<TypeInfo> TorchType(std::string_view name);
/// Whether `name` is called as types are, such as "torch.float6_e3m2fn": later
/// versions of PyTorch have more of them than TorchType knows.
bool LooksLikeTorchType(std::string_view name);
/// The type of a storage class, such as "torch.FloatStorage".
std::optional<TypeInfo> StorageType(std::string_view name);
/// Whether a name is safe as docs/formats/torch.md, section 12, defines it.
bool IsKnownName(std::string_view name);
/// "module.name", with the module's name of today.
std::string NameOfGlobal(std::string_view module, std::string_view name);
/// "_rebuild_tensor" of "torch._utils._rebuild_tensor"; empty for a name of
/// another module.
std::string_view UtilsName(std::string_view name);

}  // namespace ctxfs::torch
