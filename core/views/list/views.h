// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/views/view.h"

namespace ctxfs {

/// Returns all views in listing order.
const ViewSet& AllViews();

/// Parses "all", "none", or names separated by colons or commas; nullopt if
/// `list` is none of these.
std::optional<ViewSet> ParseViews(std::string_view list);
bool IsView(std::string_view name);
/// Returns the names of all views, separated by commas.
std::string ViewNames();

}  // namespace ctxfs
