// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// Returns a message about the probable mistake in an operand, which is SOURCE,
/// or SOURCE//PATH with `with_path`: the address of a remote file, a path that
/// goes on into a container as if that was a directory, or a misspelt name.
/// Empty if SOURCE exists or no mistake is found. May read the first bytes of a
/// container.
std::string OperandMistake(const std::string& operand, bool with_path);

}  // namespace ctxfs
