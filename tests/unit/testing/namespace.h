// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/vfs/mirror/system_directory.h"
#include "core/vfs/namespace.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {

/// Outlives every Namespace, as the cache of a mount does.
inline BlockCache& TheCache() {
  static BlockCache cache(1 << 20);
  return cache;
}

inline std::shared_ptr<const FileTable> StatsFile() {
  return TextFile("stats", "S", Role::kMetadata, /*live=*/true);
}

/// The directory at `path`, mirrored.
inline std::unique_ptr<Mirror> MirrorOf(const std::string& path,
                                        const Mirror::Options& options = {}) {
  return std::make_unique<Mirror>(
      std::make_unique<SystemDirectory>(path, SystemDirectory::Options{}),
      options);
}

inline std::optional<FoundNode> LookUp(const Namespace& files, Inode directory,
                                       std::string_view name) {
  BlockCache& cache = TheCache();
  const auto found = files.Lookup(directory, name, cache);
  EXPECT_TRUE(Ok(found)) << name;
  return found ? *found : std::nullopt;
}

inline std::optional<Inode> Walk(const Namespace& files,
                                 std::string_view path) {
  Inode inode = kRootInode;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const auto child = LookUp(files, inode, path.substr(0, slash));
    if (!child) return std::nullopt;
    inode = child->inode;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return inode;
}

}  // namespace ctxfs
