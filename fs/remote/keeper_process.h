// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "core/remote/client/shared_slots.h"

namespace ctxfs {

/// Becomes the keeper (fetcher_process.h) of the client at the other end of
/// `socket`: confines this process, which must have one thread, and runs
/// fetchers. `variables` override environment variables. If the keeper cannot
/// start, its first message has the error.
///
/// If the directory of the cache does not exist, a child of this process
/// becomes the keeper instead. This process waits for the end of the keeper and
/// its fetchers, removes the directory if nothing was stored in it, and then
/// closes `unused`, the descriptor of a pipe. Otherwise `unused` is closed at
/// once.
[[noreturn]] void RunKeeper(
    int socket, int unused, const remote::SharedSlots& slots,
    const std::map<std::string, std::string>& variables);

}  // namespace ctxfs
