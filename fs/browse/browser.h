// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// Where a user is in a tree: a directory, its files, and the selected one.
class Browser {
 public:
  /// Files of a directory that are listed; the others are counted.
  static constexpr size_t kMaxFiles = 200'000;

  explicit Browser(SourceTree& tree) : tree_(tree) {}

  /// Shows the directory at `path` of the source, or the directory of the file
  /// that is there, selected.
  Status Open(std::string_view path);

  /// The path of the directory; empty for the source itself.
  const std::string& path() const { return directory_.path; }
  const SourceTree::File& directory() const { return directory_; }
  const std::vector<SourceTree::File>& files() const { return files_; }
  /// Files that are not in files().
  uint64_t left_out() const { return left_out_; }
  size_t selected() const { return selected_; }
  /// Null in an empty directory.
  const SourceTree::File* selection() const {
    return files_.empty() ? nullptr : &files_[selected_];
  }

  /// Selects another file, as far as there are any.
  void Move(ptrdiff_t by);

  /// Goes into the selected directory or container; nothing happens if it is
  /// another file.
  Status Enter();
  /// Goes to the directory above, and selects the one that it was in.
  Status Leave();

  /// Selects the next file whose name contains `text`, in any case: behind the
  /// selected one, then from the start, then in the directories below. Fails
  /// with kNotFound if there is none.
  Status Search(const std::string& text);

 private:
  Status List(const SourceTree::File& directory);
  /// Shows the directory of the file `path`, and selects that file.
  Status Show(std::string path);
  /// The first such file below `directory`, depth first.
  Result<SourceTree::File> FindBelow(const SourceTree::File& directory,
                                     const std::string& text, unsigned depth);

  SourceTree& tree_;
  SourceTree::File directory_{};
  std::vector<SourceTree::File> files_;
  uint64_t left_out_ = 0;
  size_t selected_ = 0;
};

}  // namespace ctxfs
