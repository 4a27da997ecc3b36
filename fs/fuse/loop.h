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

/// Serves requests in `threads` threads until the session is unmounted or the
/// process is signalled to end. Those threads are confined; the calling thread
/// is not: it has to unmount afterwards. A thread passes on what is logged
/// through `relay`, and each of `questions` is answered by one, all not
/// confined: none waits for another, and the mount ends without waiting for who
/// reads the log.
/// `stop` is called when no more requests are received, while logging works.
/// Returns false if serving failed. Throws std::system_error if no thread can
/// be had.
bool RunLoop(fuse_session* session, unsigned threads,
             const std::optional<Confinement>& confinement,
             const std::shared_ptr<LogRelay>& relay,
             std::span<Questions* const> questions,
             const std::function<void()>& stop);

}  // namespace ctxfs
