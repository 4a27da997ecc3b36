// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "fs/kernel/questions.h"
#include "fs/log/relay.h"
#include "fs/sandbox/confinement.h"

struct fuse_session;

namespace ctxfs {

/// Serves requests in `threads` threads until the session is unmounted or a
/// signal to end arrives. Those threads are confined. The calling thread is
/// not, because it unmounts afterwards. Two kinds of helper threads are not
/// confined either: one forwards log messages from `relay`, and one per element
/// of `questions` answers it. They do not wait for one another, and unmounting
/// does not wait for a slow reader of the log. Calls `stop` when no more
/// requests are received, while logging still works. Returns false if serving
/// failed. Throws std::system_error if a thread cannot start.
bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement,
             const std::shared_ptr<LogRelay>& relay,
             std::span<Questions* const> questions,
             const std::function<void()>& stop);

}  // namespace ctxfs
