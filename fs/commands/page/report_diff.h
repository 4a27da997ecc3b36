// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fs/commands/arguments.h"

namespace ctxfs {

/// Compares both operands like `ctxfs diff`, and writes a page of the
/// differences to the descriptor `to`. Writes nothing if an operand cannot be
/// opened. Returns the exit code of `ctxfs diff`. Confines the process to
/// reading before it opens the operands.
int WriteComparison(const Arguments& arguments, int to);

}  // namespace ctxfs
