// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/container/exports.h"
#include "core/container/interfaces/has_hub_names.h"

namespace ctxfs {

/// Returns `array`, which must be usual (IsUsual), as a converter has changed
/// it: with its rows in another order, or a number added to each element, which
/// makes it float32. nullopt if its shape or its type does not allow that.
std::optional<ArrayInfo> Converted(const ArrayInfo& array, const HubArray& how);

}  // namespace ctxfs
