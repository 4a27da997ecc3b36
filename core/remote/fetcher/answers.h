// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/cache/block_store.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// The last responses of servers for opened objects and listed pages, cached
/// for work offline: the identity of the object or page, or that it does not
/// exist. Their bytes are cached as blocks, under the identity.

/// Returns the key of the record for the request to `url`, which includes the
/// server (Location::url).
std::string AnswerKey(const std::string& url);

/// Returns the record for a reply to such a request.
std::string AnswerRecord(const FetchReply& reply);

/// Returns the last reply to the request for `url`; nullopt if none is cached.
/// Only the members about the object or page are set.
std::optional<FetchReply> LastAnswer(BlockStore& cache, const std::string& url);

/// Returns an identity for the bytes of a page, derived from them.
Identity IdentityOfPage(const std::vector<Bytes>& parts);

}  // namespace ctxfs::remote
