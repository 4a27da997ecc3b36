// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// The containers that `path` stands for: itself, or if it is a directory that
/// is none, those in it and below, sorted. Links are not followed. A file is
/// returned whatever is in it.
Result<std::vector<std::string>> FindContainers(const std::string& path);

}  // namespace ctxfs
