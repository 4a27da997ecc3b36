// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

#include "core/base/result.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// Fails for a URL that is longer than any store takes: its request would be
/// longer than a message.
Status CheckLength(const std::string& url);
/// There is no fetcher any more.
Error FetcherEnded();
/// `times` fetchers ended, one after another, at the same request.
Error FetcherEndedAgain(unsigned times);
/// A request waited for servers as long as it may.
Error NoAnswer(std::chrono::milliseconds timeout);

/// Whether a request failed because some of its granules are not in the cache,
/// which may have the others (Settings::offline).
bool MayBePart(const Error& error, const FetchRequest& request);

}  // namespace ctxfs::remote
