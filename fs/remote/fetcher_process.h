// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace ctxfs {

/// Starts the process that fetches URLs if one of `sources` is a URL, and lets
/// OpenSource open URLs by it from now on. Called in the process that reads
/// URLs, while it has one thread and before it confines itself; it must not
/// fork afterwards. `variables` stand in place of environment variables.
///
/// There are three processes: a keeper, the fetcher, which the keeper starts
/// again when it ends, and a standby, which becomes the keeper when that ends.
/// All end when this process does. They alone know credentials, and they alone
/// can make sockets and use the cache; they can use no other files.
Status StartFetcher(const std::vector<std::string>& sources,
                    const std::map<std::string, std::string>& variables = {});

/// The descriptor of the socket to the fetcher, which passes descriptors of
/// files of the cache; -1 if none was started.
int FetcherChannel();

/// Returns what the fetcher did so far, as lines for Prometheus; empty if none
/// was started.
std::string FetcherStats();

}  // namespace ctxfs
