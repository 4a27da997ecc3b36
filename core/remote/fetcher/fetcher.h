// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/cache/block_store.h"
#include "core/remote/client/shared_slots.h"
#include "core/remote/fetcher/settings.h"

namespace ctxfs::remote {

/// Loads libcurl and its files. Returns the trusted certificates as PEM, empty
/// if the system has none. Must be called once, before the process confines
/// itself. Fails with kUnsupported without libcurl, and with kIo if
/// `settings.ca_file` cannot be read.
Result<std::string> LoadCertificates(const Settings& settings);

/// Serves requests from `socket` until its other end is closed: from the cache,
/// if it has the granules, otherwise by HTTP. Does not examine the bytes,
/// whatever their format. For `epoch`, see FetchRequest. `cache` may be null.
/// Returns false if the socket or libcurl fails.
bool RunFetcher(int socket, const SharedSlots& slots, const Settings& settings,
                const std::string& certificates, BlockStore* cache,
                uint32_t epoch);

}  // namespace ctxfs::remote
