// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/api/ctxfs.h"
#include "core/base/result.h"

namespace ctxfs::api {

/// Makes URLs available in this process through ctxfs-fetch. Starts the file
/// `program` (null: the installed program), unless a ctxfs-fetch that an
/// earlier call started still serves this process.
Status ServeUrls(const char* program, const Request& request);

}  // namespace ctxfs::api
