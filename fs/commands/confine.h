// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ctxfs {

/// Puts this process, before it looks into any of `paths`, into the sandbox
/// that a mount of them is served in (fs/sandbox.h), where the kernel has one:
/// from then on it opens nothing for writing, and of files those that
/// containers at these paths may name. For commands that only read.
void ConfineToReading(const std::vector<std::string>& paths);

}  // namespace ctxfs
