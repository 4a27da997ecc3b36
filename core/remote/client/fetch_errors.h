// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "core/base/result.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Fails for a URL that is longer than any store accepts: its request would not
/// fit into a message.
Status CheckLength(const std::string& url);
/// The error of a request when the fetcher has ended and is not restarted.
Error FetcherEnded();
/// The error of a request at which `times` fetchers ended, one after another.
Error FetcherEndedAgain(unsigned times);
/// The error of a request that used up its time to wait for servers.
Error NoAnswer(std::chrono::milliseconds timeout);

/// Whether a request failed because the cache lacks some of its granules, but
/// may have the others (Settings::offline).
bool MayBePart(const Error& error, const FetchRequest& request);

}  // namespace ctxfs::remote
