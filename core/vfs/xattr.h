// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/container/entry.h"

namespace ctxfs {

/// The extended attributes of an entry (docs/tree.md, section 6): full names
/// and values, each value under limits::kXattrBytes. Empty values, except an
/// empty name, and values that are too long are left out.
std::vector<std::pair<std::string, std::string>> EntryXattrs(
    const EntryInfo& info, const std::string& path);

}  // namespace ctxfs
