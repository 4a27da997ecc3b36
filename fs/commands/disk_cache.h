// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/cache/store_contents.h"

namespace ctxfs {

/// The persistent cache: blocks of remote objects, and files materialised by
/// mounts (`-o cache_keep`).
struct DiskCache {
  std::string directory;
  uint64_t most = 0;  // maximum size in bytes
  /// The contents, or the removed contents; nullopt: the directory does not
  /// exist.
  std::optional<StoreContents> contents;
};

/// Counts the contents of this user's cache. Fails with kIo if it cannot be
/// used.
Result<DiskCache> CountDiskCache();

/// Clears this user's cache. Fails like CountDiskCache.
Result<DiskCache> ClearDiskCache();

/// Creates the directory of the cache. Fails like CountDiskCache.
Status MakeDiskCache();

}  // namespace ctxfs
