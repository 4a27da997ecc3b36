// SPDX-License-Identifier: Apache-2.0
//
// In place of fetcher_process.cc and disk_cache.cc in a build without
// CTXFS_REMOTE.
#include <algorithm>

#include "core/io/url.h"
#include "fs/remote/disk_cache.h"
#include "fs/remote/fetcher_process.h"

namespace ctxfs {
namespace {

Error NoCache() {
  return {Code::kUnsupported,
          "this build of ctxfs cannot open URLs and has no cache"};
}

}  // namespace

Status StartFetcher(const std::vector<std::string>& sources,
                    const std::map<std::string, std::string>& /*variables*/) {
  if (std::ranges::none_of(sources, IsUrl)) return {};
  return Error{Code::kUnsupported,
               "this build of ctxfs cannot open URLs; download the file"};
}

int FetcherChannel() { return -1; }

std::string FetcherStats() { return {}; }

Result<DiskCache> CountDiskCache() { return NoCache(); }

Result<DiskCache> ClearDiskCache() { return NoCache(); }

Status MakeDiskCache() { return NoCache(); }

}  // namespace ctxfs
