// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/container/exports.h"
#include "core/container/interfaces/has_hub_names.h"

namespace ctxfs {

/// Returns `array`, which must be usual (IsUsual), after the changes that a
/// converter makes (`how`): its rows are reordered, a number is added to each
/// element, which makes it float32, or both. Returns nullopt if its shape or
/// its type does not allow that.
std::optional<ArrayInfo> Converted(const ArrayInfo& array, const HubArray& how);

}  // namespace ctxfs
