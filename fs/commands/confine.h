// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/io/spill_file.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// Creates a file for BlockCache::SpillTo; null if that fails. Must run before
/// the process is confined.
std::shared_ptr<SpillFile> OpenSpillFile();

/// Confines this thread and threads that it starts, like serving threads of a
/// mount of `paths` (fs/sandbox/sandbox.h), as far as the kernel can: they read
/// only files that may be shown, write only below the directory with the
/// descriptor `written` (-1: nowhere), and make no sockets
/// (FilterLeavingSyscalls). Must run before any of `paths` is opened. Logs a
/// warning on failure.
void ConfineToReading(const std::vector<std::string>& paths, LeavingLinks links,
                      int written = -1);

}  // namespace ctxfs
