// SPDX-License-Identifier: Apache-2.0
//
// Replaces fetcher_process.cc in a build without CTXFS_REMOTE.
#include <algorithm>

#include "core/io/urls/url.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {

Status StartFetcher(const std::vector<std::string>& sources,
                    const std::map<std::string, std::string>& /*variables*/) {
  if (std::ranges::none_of(sources, IsUrl)) return {};
  return Error{Code::kUnsupported,
               "this build of ctxfs cannot open URLs; download the file"};
}

void WaitForCache() {}

void EndFetcher() {}

int FetcherChannel() { return -1; }

std::string FetcherStats() { return {}; }

}  // namespace ctxfs
