// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/container/exports.h"
#include "core/container/interfaces/has_hub_names.h"

namespace ctxfs {

/// Applies to `array`, which must be usual (IsUsual), what a converter did
/// (`how`): reorders its rows, adds a number to each element, which makes it
/// float32, or both. nullopt if its shape or its type does not allow that.
std::optional<ArrayInfo> Converted(const ArrayInfo& array, const HubArray& how);

}  // namespace ctxfs
