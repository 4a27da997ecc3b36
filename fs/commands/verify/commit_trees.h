// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/mutex.h"
#include "fs/commands/verify/commit_tree.h"

namespace ctxfs {

/// A directory with the files of a commit, and the text that lists them.
struct CommitFolder {
  std::string from;    // path of the text
  std::string folder;  // absolute, without links
  CommitTree files;

  /// The file at the absolute path `path`; null if the commit has none there.
  const CommitFile* Find(std::string_view path) const;
};

/// Returns `path` with its directory absolute and without links; `path` itself
/// if there is no such directory.
std::string LocatedPath(const std::string& path);

/// Returns the directories from that of the file `located` up to `top`.
std::vector<std::string> FoldersUpTo(const std::string& located,
                                     const std::string& top);

/// Finds and reads what huggingface_hub says of the files of a commit
/// (docs/caches.md): trees/COMMIT.json of a repository in its cache, for the
/// directory snapshots/COMMIT, and .cache/huggingface/trees/COMMIT.json of a
/// directory that it has downloaded into. A text that is none is ignored. Safe
/// for any number of threads.
class CommitTrees {
 public:
  using FolderPtr = std::shared_ptr<const CommitFolder>;

  /// Returns the commit of the files in `folder`, which is absolute and without
  /// links; null if nothing is known of it.
  FolderPtr In(const std::string& folder) const;

  /// Returns the commit that the metadata of the file at `path` name; null if
  /// nothing is known of it. The file is in `folder` or below it.
  FolderPtr For(const std::string& path, const std::string& folder) const;

  /// Returns the commit of the snapshot that the file at `path` is in; null if
  /// nothing is known of it, or if it is in none.
  FolderPtr OfSnapshot(const std::string& path) const;

  /// Returns the nearest of these commits that has the file at `path`, for
  /// which it looks in the directories from its own up to `top`; null for none.
  FolderPtr Around(const std::string& path, const std::string& top) const;

 private:
  FolderPtr Read(const std::string& from, const std::string& folder) const;

  mutable Mutex mutex_;
  /// By the path of the text; null for one that is ignored.
  mutable std::map<std::string, FolderPtr> known_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
