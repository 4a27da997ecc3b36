// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the containers to work on for the operand `path`: those in and below
/// it, sorted, if it is a directory and not a container itself; otherwise
/// `path`, which is not examined if it is a file. Does not follow links. Fails
/// with kNotContainer if there is none.
Result<std::vector<std::string>> FindContainers(const std::string& path);

}  // namespace ctxfs
