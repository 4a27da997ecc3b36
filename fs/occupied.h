// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Fails if a mount on the directory `path` would hide something: the files in
/// it, or another mount of ctxfs. `path` is absolute and has no symbolic links.
Status CheckUnoccupied(const std::string& path);

}  // namespace ctxfs
