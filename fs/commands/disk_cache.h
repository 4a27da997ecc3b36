// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/cache/store_contents.h"

namespace ctxfs {

/// The cache on disk: blocks of remote objects, and files that mounts
/// materialise (`-o cache_keep`).
struct DiskCache {
  std::string directory;
  uint64_t most = 0;  // bytes that it may take
  /// Its contents, or those that were removed; nullopt: there is no directory.
  std::optional<StoreContents> contents;
};

/// Counts what the cache of this user has. Fails with kIo if it cannot be used.
Result<DiskCache> CountDiskCache();

/// Removes what the cache of this user has. Fails like CountDiskCache.
Result<DiskCache> ClearDiskCache();

/// Makes the directory of the cache. Fails like CountDiskCache.
Status MakeDiskCache();

}  // namespace ctxfs
