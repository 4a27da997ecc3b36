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

/// Returns the fault of the file at `path` if its commit gives it another size;
/// nullopt if the sizes are equal or nothing is known. `top` is the SOURCE.
std::optional<Error> SizeFault(const CommitTrees& commits,
                               const std::string& path, const std::string& top);

/// Compares the names in a directory with those of its commit. The report has
/// files that were never downloaded, as faults if `missing` and otherwise as
/// warnings, and warnings about files that the commit does not have: one each
/// or, unless `each`, one for all. Returns nullopt if there is nothing to
/// report.
std::optional<CheckReport> CompareNames(const CommitTrees& commits,
                                        const std::string& folder, bool missing,
                                        bool each);

/// Adds to the reports of `ctxfs check --json` what was compared under the
/// first name of a blob, for its other names.
void AddOtherNames(const std::vector<ContainerSearch::OtherName>& names,
                   Json& reports);

}  // namespace ctxfs
