// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/io/fd.h"

namespace ctxfs {

/// What is at `path` in `directory` or below it, found but not opened for
/// reading (O_PATH), which disturbs no fifo and no device: kCorrupt for a path
/// that leads out of it, by "..", from the root, or through a link; kNotFound
/// for nothing; kIo otherwise. `flags` are further ones of open(2).
Result<Fd> FindBeneath(const std::string& directory, const std::string& path,
                       int flags);

}  // namespace ctxfs
