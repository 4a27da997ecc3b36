// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Runs work of unknown memory, so that all such work and the cached blocks
/// together stay within `cache=`. Calls `work` with 1 MiB first; if that does
/// not suffice, calls it again with the whole budget of the cache, while
/// nothing else is produced. Fails with kLimit and EFBIG if it needs more than
/// that budget and more than 64 MiB.
Status WithinCache(const ReadContext& context,
                   const std::function<Status(const ReadContext&)>& work);

}  // namespace ctxfs
