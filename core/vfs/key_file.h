// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/secret.h"

namespace ctxfs {

/// The key in the file at `path`: 32 raw bytes, or 64 hex digits and perhaps a
/// newline. Fails with kIo when it cannot be read, or when others than its
/// owner could and `insecure` does not allow that; with kCorrupt when it holds
/// no key. From then on the process leaves no core dump.
Result<std::shared_ptr<const MasterKey>> ReadKeyFile(const std::string& path,
                                                     bool insecure);

}  // namespace ctxfs
