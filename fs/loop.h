// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "fs/log/relay.h"
#include "fs/questions.h"
#include "fs/sandbox/confinement.h"

struct fuse_session;

namespace ctxfs {

/// Serves requests in `threads` threads until the session is unmounted or the
/// process is signalled to end. Those threads are confined, and log through
/// `relay` to the calling thread, which is not: it has to unmount afterwards.
/// `questions` are answered by the calling thread, too.
/// `stop` is called when no more requests are received, while logging works.
/// Returns false if serving failed.
bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement, LogRelay& relay,
             std::span<Questions* const> questions,
             const std::function<void()>& stop);

}  // namespace ctxfs
