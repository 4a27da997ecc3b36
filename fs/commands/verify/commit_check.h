// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "fs/commands/container_search.h"
#include "fs/commands/verify/check_report.h"
#include "fs/commands/verify/commit_trees.h"

namespace ctxfs {

/// Returns a fault if the commit of the file at `path` lists another size;
/// nullopt if the sizes are equal or unknown. `top` is the SOURCE.
std::optional<Error> SizeFault(const CommitTrees& commits,
                               const std::string& path, const std::string& top);

/// Compares the names in a directory with those of its commit. Reports files
/// that were never downloaded or have no blob, as faults if `missing`, else as
/// warnings, and warns of files that the commit lacks: one warning per file if
/// `each`, else one for all. Returns nullopt if there is nothing to report.
std::optional<CheckReport> CompareNames(const CommitTrees& commits,
                                        const std::string& folder, bool missing,
                                        bool each);

/// Copies the comparison of a blob in the reports of `ctxfs check --json` from
/// its first name to its other names.
void AddOtherNames(const std::vector<ContainerSearch::OtherName>& names,
                   Json& reports);

}  // namespace ctxfs
