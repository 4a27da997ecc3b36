// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/vfs/source_tree.h"
#include "fs/commands/arguments.h"

namespace ctxfs {

/// Reads the file or directory of an operand SOURCE//PATH. Returns the exit
/// code of the last error that it printed, or kOk.
using ReadOperand = std::function<Result<ExitCode>(
    SourceTree& tree, const SourceTree::File& file)>;

/// Confines this process to reading the operands, and calls `read` for each.
/// Prints errors. Returns the exit code of the last error, or kOk.
ExitCode ReadOperands(const Arguments& arguments, const ReadOperand& read);

/// Passes the verified bytes of a file to `sink` piece by piece.
Status ReadFile(SourceTree& tree, const SourceTree::File& file,
                const std::function<Status(Bytes)>& sink);

}  // namespace ctxfs
