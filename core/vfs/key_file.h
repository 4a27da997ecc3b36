// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/secret.h"

namespace ctxfs {

/// Reads the key file at `path`: 32 raw bytes, or 64 hex digits with an
/// optional newline. Fails with kIo if it cannot be read, or if its mode has
/// any bit for users other than the owner and `insecure` is not set; with
/// kCorrupt if it holds no key. Once it has read a key, the process leaves no
/// core dump.
Result<std::shared_ptr<const MasterKey>> ReadKeyFile(const std::string& path,
                                                     bool insecure);

}  // namespace ctxfs
