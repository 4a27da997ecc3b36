// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/api/ctxfs.h"
#include "core/base/result.h"

namespace ctxfs::api {

/// Sees to it that URLs can be opened in this process, by ctxfs-fetch, which
/// the first call starts: the file `program`; null: the installed one.
Status ServeUrls(const char* program, const Request& request);

}  // namespace ctxfs::api
