// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/answers.h"

#include "core/codec/crypto/digest.h"

namespace ctxfs::remote {

std::string AnswerKey(const std::string& url) {
  // Keys of blocks never begin with NUL.
  return std::string(1, '\0') + url;
}

std::string AnswerRecord(const FetchReply& reply) {
  FetchReply kept;
  kept.error = reply.error;
  kept.identity = reply.identity;
  kept.last_modified = reply.last_modified;
  kept.page_bytes = reply.page_bytes;
  kept.link = reply.link;
  return Encode(kept);
}

std::optional<FetchReply> LastAnswer(BlockStore& cache,
                                     const std::string& url) {
  const auto record = cache.ReadRecord(AnswerKey(url));
  if (!record) return std::nullopt;
  return DecodeReply(*record);
}

Identity IdentityOfPage(const std::vector<Bytes>& parts) {
  Sha256 digest;
  Identity identity;
  for (const Bytes part : parts) {
    digest.Update(part);
    identity.size += part.size();
  }
  identity.etag = digest.Hex();
  return identity;
}

}  // namespace ctxfs::remote
