// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "fs/log/relay.h"
#include "fs/sandbox/confinement.h"
#include "fs/signal_watch.h"

struct fuse_session;

namespace ctxfs {

/// Serves requests in `threads` threads until the session is unmounted or the
/// process is signalled to end. Those threads are confined, and log through
/// `relay` to the calling thread, which is not: it has to unmount afterwards.
/// `signals` is answered by the calling thread, too; null: nobody asks.
/// `stop` is called when no more requests are received, while logging works.
/// Returns false if serving failed.
bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement, LogRelay& relay,
             SignalWatch* signals, const std::function<void()>& stop);

}  // namespace ctxfs
