// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// Totals of a BlockStore on disk.
struct StoreContents {
  uint64_t objects = 0;
  uint64_t blocks = 0;
  uint64_t files = 0;  // whole files
  uint64_t bytes = 0;  // of all files
};

/// Counts the files of the store in `directory`, without opening or creating a
/// BlockStore. Returns nullopt if the directory does not exist; fails with kIo
/// like BlockStore::Open.
Result<std::optional<StoreContents>> CountStore(const std::string& directory);

/// Removes the files of the store in `directory`, and directories of objects
/// that become empty. Returns the totals removed. Foreign names and links stay,
/// and so do files that are named as a run or a record but have no header of a
/// store, and files that were written in the last hour and are unfinished.
/// Other processes may use the store meanwhile: they get cache misses and fetch
/// the blocks again. Fails like CountStore, and if a file cannot be removed.
Result<std::optional<StoreContents>> ClearStore(const std::string& directory);

}  // namespace ctxfs
