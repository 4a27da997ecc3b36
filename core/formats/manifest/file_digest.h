// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/source.h"

namespace ctxfs::manifest {

/// SHA-256 of all of `source` as lower-case hex digits, read in pieces.
Result<std::string> FileDigest(const Source& source,
                               const ReadContext& context);

/// Returns hex digits in lower case, as FileDigest writes them.
std::string LowerHex(std::string digits);

}  // namespace ctxfs::manifest
