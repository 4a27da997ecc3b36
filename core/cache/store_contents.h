// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"

namespace ctxfs {

/// What a BlockStore has on disk.
struct StoreContents {
  uint64_t objects = 0;
  uint64_t blocks = 0;
  uint64_t files = 0;  // kept as they are
  uint64_t bytes = 0;  // of the files
};

/// Counts what the store in `directory` has. Opens no store, so nothing is made
/// there. Returns nullopt if there is no such directory; fails with kIo like
/// BlockStore::Open.
Result<std::optional<StoreContents>> CountStore(const std::string& directory);

/// Removes the files of the store in `directory`, and the directories of
/// objects that are empty then. Returns what was removed. Files that do not
/// begin as those of a store stay, and so does everything that is called
/// otherwise or is a link. Other processes may use the store meanwhile: they
/// miss the blocks and fetch them again. Fails like CountStore, and if a file
/// cannot be removed.
Result<std::optional<StoreContents>> ClearStore(const std::string& directory);

}  // namespace ctxfs
