// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/fetch_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/text/text.h"
#include "core/io/urls/url.h"

namespace ctxfs::remote {

// The URL in the key includes the server.
std::string FetchJob::CacheKey(const Identity& identity) const {
  std::string key = location.url;
  for (const std::string& part :
       {identity.etag, identity.last_modified, std::to_string(identity.size)}) {
    key += '\0';
    key += part;
  }
  return key;
}

uint32_t FetchJob::Took() const {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
      Clock::now() - started);
  return static_cast<uint32_t>(std::min<int64_t>(took.count(), UINT32_MAX));
}

Error FetchJob::NotCached() const {
  std::string what = Quote(WithoutQuery(request.url)) + " is not in the cache";
  if (request.page) {
    what = "the listing of " + what;
  } else if (asked.length > 0) {
    what = fmt::format("bytes {} to {} of {} are not in the cache",
                       asked.offset, asked.offset + asked.length - 1,
                       Quote(WithoutQuery(request.url)));
  }
  what += ", and nothing is fetched (-o offline, --offline or CTXFS_OFFLINE)";
  return {Code::kIo, std::move(what), kNoOffset, ENETDOWN};
}

}  // namespace ctxfs::remote
