// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/cache/block_store.h"
#include "core/remote/client/messages.h"

namespace ctxfs::remote {

/// What a server answered last when an object was opened or a page of a listing
/// was fetched, kept in the cache for work without a network: the identity of
/// the object or page, or that there is none. Bytes are kept as blocks, under
/// the identity.

/// Returns the key of the record for the request at `url`, which names the
/// server (Location::url).
std::string AnswerKey(const std::string& url);

/// Returns the record for a reply to such a request.
std::string AnswerRecord(const FetchReply& reply);

/// Returns the last reply for the request at `url`; nullopt if none is kept.
/// Only the members that concern the object or page are set.
std::optional<FetchReply> LastAnswer(BlockStore& cache, const std::string& url);

/// Returns an identity for the bytes of a page, which changes with them.
Identity IdentityOfPage(const std::vector<Bytes>& parts);

}  // namespace ctxfs::remote
