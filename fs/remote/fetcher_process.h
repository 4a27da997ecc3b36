// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Starts the process that fetches URLs if one of `sources` is a URL, and
/// registers it with OpenSource. Must be called in the process that reads URLs,
/// while it has one thread and before it confines itself. That process must not
/// fork afterwards. `variables` override environment variables.
///
/// There are three processes: a keeper, the fetcher, which the keeper restarts
/// when it ends, and a standby, which replaces a dead keeper. If the directory
/// of the cache is new, a fourth process waits for the end of these three and
/// removes the directory if it is unused. All end with this process. Only the
/// first three have credentials, can make sockets and use the cache; they can
/// use no other files.
Status StartFetcher(const std::vector<std::string>& sources,
                    const std::map<std::string, std::string>& variables = {});

/// From now on, a read waits until the cache has what was fetched for it.
/// Otherwise, what the disk cannot take fast enough is not cached.
void WaitForCache();

/// Ends the processes that StartFetcher started. Waits at most a second for the
/// cache to get what was fetched, and at most a second for the removal of a
/// cache that they created and did not use. Must be called at the end of a
/// command, when no forked process fetches any more.
void EndFetcher();

/// The descriptor of the socket to the fetcher, which sends descriptors of
/// cache files; -1 if none was started.
int FetcherChannel();

/// The fetcher's counters in Prometheus format; empty if none was started.
std::string FetcherStats();

}  // namespace ctxfs
