// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/views/view.h"

namespace ctxfs {

/// Every view, in the order in which their files are listed.
const ViewSet& AllViews();

/// Parses "all", "none", or names with a colon or comma between them; returns
/// nullopt for anything else.
std::optional<ViewSet> ParseViews(std::string_view list);
bool IsView(std::string_view name);
/// The names of all views, with commas between them.
std::string ViewNames();

}  // namespace ctxfs
