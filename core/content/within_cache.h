// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Runs work of unknown memory, so that all such work and the cached blocks
/// together stay within `cache=`. Calls `work` with an allowance of 1 MiB
/// first. If that does not suffice, calls `work` a second time, while nothing
/// else is produced, with the whole budget of the cache, but at least 64 MiB.
/// Fails with kLimit and EFBIG if `work` needs more.
Status WithinCache(const ReadContext& context,
                   const std::function<Status(const ReadContext&)>& work);

}  // namespace ctxfs
