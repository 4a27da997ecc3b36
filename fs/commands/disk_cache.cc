// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/disk_cache.h"

#include "core/cache/block_store.h"

namespace ctxfs {
namespace {

Result<std::string> DirectoryOfCache() {
  std::string directory = CacheDirectory(EnvironmentVariable);
  if (!directory.empty()) return directory;
  return Error{Code::kIo,
               "there is no cache directory: set CTXFS_CACHE_DIR or HOME"};
}

using Walk = Result<std::optional<StoreContents>>(const std::string&);

Result<DiskCache> Run(Walk& walk) {
  DiskCache cache;
  cache.directory = CTXFS_TRY(DirectoryOfCache());
  cache.most = CacheBytes(EnvironmentVariable);
  cache.contents = CTXFS_TRY(walk(cache.directory));
  return cache;
}

}  // namespace

Result<DiskCache> CountDiskCache() { return Run(CountStore); }

Result<DiskCache> ClearDiskCache() { return Run(ClearStore); }

Status MakeDiskCache() {
  const std::string directory = CTXFS_TRY(DirectoryOfCache());
  CTXFS_TRY(BlockStore::Open(directory, CacheBytes(EnvironmentVariable)));
  return {};
}

}  // namespace ctxfs
