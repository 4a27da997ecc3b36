// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the file of the secret with which digests of kept files are made:
/// of root /var/lib/ctxfs/kept.key, of others kept.key in $XDG_STATE_HOME/ctxfs
/// or ~/.local/state/ctxfs. Fails with kIo if no such directory is known.
Result<std::string> KeptSecretPath();

/// Returns the 32 random bytes in a file that the caller alone can read and
/// write, which is made if there is none, with its directories. Fails with kIo
/// if it cannot be made, or is readable by others or not the caller's.
Result<std::string> KeptSecret(const std::string& path);

}  // namespace ctxfs
