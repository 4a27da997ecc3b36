// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fs/commands/arguments.h"

namespace ctxfs {

/// Compares both operands as `ctxfs diff` does, and writes a page of what
/// differs to the descriptor `to`, unless one cannot be opened. Returns the
/// exit code of `ctxfs diff`. The process is confined to reading before it
/// opens them.
int WriteComparison(const Arguments& arguments, int to);

}  // namespace ctxfs
