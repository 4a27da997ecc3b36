// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// Returns what is probably wrong with the operand SOURCE, or SOURCE//PATH with
/// `with_path`, of a command: the address of a remote file, or a path that goes
/// on into a container as if that was a directory. Empty if nothing is, or the
/// operand exists. Reads the first bytes of a container.
std::string OperandMistake(const std::string& operand, bool with_path);

}  // namespace ctxfs
