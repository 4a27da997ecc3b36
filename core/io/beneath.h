// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// Finds what is at `path` in `directory` or below without opening it for
/// reading (O_PATH). Fails with kCorrupt for a path that leads out of it, by
/// "..", from the root, through a link, or into another mount of ctxfs
/// (FindPath); with kNotFound where nothing is. `flags` are further ones of
/// open(2): O_DIRECTORY.
Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags);

}  // namespace ctxfs
