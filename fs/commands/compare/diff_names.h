// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/commands/compare/diff_side.h"

namespace ctxfs {

/// The arrays of a converted model that are compared with arrays of the hub's
/// model that it was made from.
struct MappedNames {
  std::string architecture;  // "llama"
  uint64_t arrays = 0;
};

/// If one side is a converted model and the sides have no array name in common,
/// takes the other side for the hub's model: renames the converted arrays as
/// the hub names them, and changes the values of the hub's arrays as the
/// converter did. Returns nullopt if nothing changed.
std::optional<MappedNames> MapNames(DiffSide& first, DiffSide& second);

}  // namespace ctxfs
