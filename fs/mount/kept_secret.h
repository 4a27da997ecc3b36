// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Returns the path of the secret key for digests of persistent files:
/// /var/lib/ctxfs/kept.key for root, else kept.key in $XDG_STATE_HOME/ctxfs or
/// ~/.local/state/ctxfs. Fails with kIo if no such directory is known.
Result<std::string> KeptSecretPath();

/// Returns the 32 random bytes in `path`, which only the caller can read and
/// write. Creates the file and its directories if needed. Fails with kIo if the
/// file cannot be created, gives other users any right, belongs to another
/// user, or is not a regular file of 32 bytes.
Result<std::string> KeptSecret(const std::string& path);

}  // namespace ctxfs
