// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

/// Confines this process, before it opens any of `paths`, as a mount of them
/// confines its serving threads (fs/sandbox/sandbox.h), if the kernel can: it
/// then opens nothing for writing, and reads only files that containers at
/// these paths may name. Logs a warning if that fails. For commands that only
/// read.
void ConfineToReading(const std::vector<std::string>& paths);

}  // namespace ctxfs
