// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// Runs work whose memory is not known in advance, so that all such work and
/// the cached blocks together stay within `cache=`. Calls `work` with 1 MiB
/// first; if it needs more, calls it again with the cache's whole budget, while
/// nothing else is produced. Fails with kLimit and EFBIG if it takes more than
/// that budget and more than 64 MiB.
Status WithinCache(const ReadContext& context,
                   const std::function<Status(const ReadContext&)>& work);

}  // namespace ctxfs
