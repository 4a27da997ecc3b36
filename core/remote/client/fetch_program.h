// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/remote/client/fetch_client.h"

namespace ctxfs::remote {

/// The descriptors at the start of ctxfs-fetch: the socket to its client, and
/// the memory of SharedSlots.
constexpr int kFetchSocket = 3;
constexpr int kFetchMemory = 4;

/// Starts ctxfs-fetch (fs/remote/fetch_main.cc), the file `path`, which fetches
/// URLs for this process until this process ends. For processes that may have
/// threads and cannot fork. Waits until ctxfs-fetch is ready, or `request` is
/// interrupted; fails with the reason why it is not ready.
Result<std::shared_ptr<FetchClient>> StartFetchProgram(const std::string& path,
                                                       const Request& request);

/// Waits for the first message of a fetcher, which reports whether it is ready.
/// Returns its timeout for fetches.
Result<std::chrono::milliseconds> AwaitFetcher(const Fd& socket,
                                               const Request& request);

}  // namespace ctxfs::remote
