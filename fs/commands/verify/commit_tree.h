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

/// A file of a commit of a repository.
struct CommitFile {
  uint64_t size = 0;  // bytes
  /// The SHA-256 of a file in LFS or Xet, the SHA-1 of git of any other;
  /// nullopt if the text has none of the right length.
  std::optional<PublishedDigest> digest = std::nullopt;
};

/// The files of a commit by their paths. The paths are compared and never
/// opened: they may be absolute or have "..".
using CommitTree = std::map<std::string, CommitFile, std::less<>>;

/// Bytes of such a text: about 200 for each file.
inline constexpr uint64_t kMaxCommitTreeBytes = 64 * 1024 * 1024;

/// Reads trees/COMMIT.json, which huggingface_hub writes (docs/caches.md).
/// Fails with kCorrupt if it is not JSON, is of another version than 1, or has
/// an entry without size or blob_id: huggingface_hub ignores such a text, too.
Result<CommitTree> ParseCommitTree(std::string_view text);

}  // namespace ctxfs
