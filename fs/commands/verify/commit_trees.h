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

/// A directory with the files of a commit, and their list.
struct CommitFolder {
  std::string from;    // path of the list
  std::string folder;  // absolute, without links
  CommitTree files;

  /// The file at the absolute path `path`; null if the commit lacks it.
  const CommitFile* Find(std::string_view path) const;
};

/// Returns `path` with its directory absolute and free of links; unchanged if
/// the directory does not exist.
std::string LocatedPath(const std::string& path);

/// Returns the ancestor directories of the file `located`, innermost first, up
/// to `top`; only the innermost if the file is not below `top`.
std::vector<std::string> FoldersUpTo(const std::string& located,
                                     const std::string& top);

/// Finds and parses huggingface_hub's lists of the files of commits
/// (docs/caches.md): trees/COMMIT.json of a repository in its cache, for the
/// directory snapshots/COMMIT, and .cache/huggingface/trees/COMMIT.json of a
/// download directory. Ignores invalid lists. Thread-safe.
class CommitTrees {
 public:
  using FolderPtr = std::shared_ptr<const CommitFolder>;

  /// Returns the commit of the files in `folder`, which is absolute and free of
  /// links; null if unknown.
  FolderPtr In(const std::string& folder) const;

  /// Returns the commit of the file at `path`, which is in or below `folder`:
  /// the one that the metadata of its download names, else the result of In.
  /// Null if unknown.
  FolderPtr For(const std::string& path, const std::string& folder) const;

  /// Returns the commit of the snapshot that contains the file at `path`; null
  /// if unknown, or if no snapshot contains it.
  FolderPtr OfSnapshot(const std::string& path) const;

  /// Returns the commit that has the file at `path`, from the nearest of its
  /// ancestor directories up to `top`, else from the snapshot that contains it;
  /// null if there is none.
  FolderPtr Around(const std::string& path, const std::string& top) const;

 private:
  FolderPtr Read(const std::string& from, const std::string& folder) const;

  mutable Mutex mutex_;
  /// The lists that were read, by their paths; null for a list that is invalid
  /// or could not be read.
  mutable std::map<std::string, FolderPtr> known_ CTXFS_GUARDED_BY(mutex_);
};

}  // namespace ctxfs
