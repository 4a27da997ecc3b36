// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/io/spill_file.h"

namespace ctxfs {

/// A file for BlockCache::SpillTo; null if it cannot be made. A confined
/// process cannot make it.
std::shared_ptr<SpillFile> OpenSpillFile();

/// Confines this process, before it opens any of `paths`, as a mount of them
/// confines its serving threads (fs/sandbox/sandbox.h), if the kernel can: it
/// then opens nothing for writing, and reads only files that containers at
/// these paths may name. Logs a warning if that fails. For commands that only
/// read.
void ConfineToReading(const std::vector<std::string>& paths);

}  // namespace ctxfs
