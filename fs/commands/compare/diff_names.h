// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/commands/compare/diff_side.h"

namespace ctxfs {

/// Arrays of a converted model that are compared with those of the hub's model
/// that they were made of.
struct MappedNames {
  std::string architecture;  // "llama"
  uint64_t arrays = 0;
};

/// If one side is a converted model and no array of it has the name of one of
/// the other, gives its arrays the names that the other may have, and changes
/// the other's arrays as the converter did. Returns nullopt if nothing changed.
std::optional<MappedNames> MapNames(DiffSide& first, DiffSide& second);

}  // namespace ctxfs
