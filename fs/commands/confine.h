// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/io/spill_file.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// A file for BlockCache::SpillTo; null if it cannot be made. A confined
/// process cannot make it.
std::shared_ptr<SpillFile> OpenSpillFile();

/// Confines this thread and those that it starts as a mount of `paths` confines
/// its serving threads (fs/sandbox/sandbox.h), if the kernel can. Called before
/// any of `paths` is opened. They then read only files that may be shown, write
/// only below the directory with the descriptor `written`; -1: nowhere; and
/// make no sockets (FilterLeavingSyscalls). Logs a warning if that fails.
void ConfineToReading(const std::vector<std::string>& paths, LeavingLinks links,
                      int written = -1);

}  // namespace ctxfs
