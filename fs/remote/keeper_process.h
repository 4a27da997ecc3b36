// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/remote/client/shared_slots.h"

namespace ctxfs {

/// Becomes the keeper (fetcher_process.h) of the client at the other end of
/// `socket`: confines this process, which must have one thread, and runs
/// fetchers. `variables` override environment variables. If it cannot start,
/// its first message has the error.
[[noreturn]] void RunKeeper(
    int socket, const remote::SharedSlots& slots,
    const std::map<std::string, std::string>& variables);

}  // namespace ctxfs
