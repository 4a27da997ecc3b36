// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "fs/commands/verify/published_digests.h"

namespace ctxfs {

struct CommitFile {
  uint64_t size = 0;  // bytes
  /// SHA-256 of a file in LFS or Xet, else git's SHA-1; nullopt if the list has
  /// none of the right length.
  std::optional<PublishedDigest> digest = std::nullopt;
};

/// The files of a commit by path. Paths may be absolute or contain "..", so
/// they are only compared, never opened.
using CommitTree = std::map<std::string, CommitFile, std::less<>>;

/// Maximum size of a list, in bytes; a file takes about 200.
inline constexpr uint64_t kMaxCommitTreeBytes = 64 * 1024 * 1024;

/// Parses trees/COMMIT.json, written by huggingface_hub (docs/caches.md). Fails
/// with kCorrupt if it is not JSON, has another version than 1, or an entry
/// lacks size or blob_id; huggingface_hub ignores such lists, too.
Result<CommitTree> ParseCommitTree(std::string_view text);

}  // namespace ctxfs
