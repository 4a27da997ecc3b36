// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/content/block_cache.h"
#include "core/vfs/namespace.h"
#include "core/views/view.h"

namespace ctxfs {

/// An operand SOURCE//PATH.
struct Target {
  std::string source;
  std::string path;  // in it, without slashes at its ends; empty: all of it
};
Target ParseTarget(const std::string& argument);
std::vector<std::string> SourcesOf(const std::vector<std::string>& arguments);

/// A source as a mount of it with `flat` would show it, without FUSE and
/// without the mount's own files.
class SourceTree {
 public:
  /// `list` selects what ForEach visits.
  static Result<std::unique_ptr<SourceTree>> Open(const std::string& source,
                                                  const OpenOptions& options,
                                                  const ViewSet& views,
                                                  ListMode list);

  /// A file or a directory of the tree.
  struct File {
    std::string path;  // below the source; empty for the source itself
    Inode inode;
    bool directory;

    std::string name() const { return path.substr(path.rfind('/') + 1); }
  };

  /// Fails with kNotFound if `path` does not exist.
  Result<File> Find(std::string_view path);

  /// Calls `visit` with each child of `directory`, in the order of the
  /// container, until a call fails. Decodes nothing.
  Status ForEach(const File& directory,
                 const std::function<Status(const File&)>& visit);

  /// Returns the bytes of a file. This may generate or decode it.
  Result<uint64_t> Size(const File& file);
  Result<Namespace::OpenFile> Open(const File& file);
  Result<std::optional<EntryInfo>> Describe(const File& file) {
    return files_->Describe(file.inode, cache_);
  }

  BlockCache& cache() { return cache_; }

 private:
  explicit SourceTree(std::unique_ptr<Namespace> files);

  BlockCache cache_;
  std::unique_ptr<Namespace> files_;
};

}  // namespace ctxfs
