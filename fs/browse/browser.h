// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/vfs/source_tree.h"

namespace ctxfs {

/// The position of a user in a tree: a directory, its files, and the selected
/// one.
class Browser {
 public:
  /// Maximum number of files listed in a directory; further ones are only
  /// counted.
  static constexpr size_t kMaxFiles = 200'000;

  explicit Browser(SourceTree& tree) : tree_(tree) {}

  /// Shows the directory or container at `path`. If a file is at `path`, shows
  /// its directory and selects the file.
  Status Open(std::string_view path);

  /// The path of the directory; empty: the source itself.
  const std::string& path() const { return directory_.path; }
  const SourceTree::File& directory() const { return directory_; }
  const std::vector<SourceTree::File>& files() const { return files_; }
  /// Number of files left out of files().
  uint64_t left_out() const { return left_out_; }
  size_t selected() const { return selected_; }
  /// The selected file; null in an empty directory.
  const SourceTree::File* selection() const {
    return files_.empty() ? nullptr : &files_[selected_];
  }

  /// The size of files()[i]; nullopt if it has not been measured yet.
  /// Directories, links, and files that would have to be decoded are never
  /// measured.
  std::optional<uint64_t> size(size_t i) const { return sizes_[i]; }
  /// Bytes of the longest name, as it is shown.
  size_t longest_name() const { return longest_name_; }
  /// A file of the list and its size.
  struct Measured {
    size_t number;  // in files()
    SourceTree::File file;
    std::optional<uint64_t> size;
  };
  /// Returns the files on the page of the selected file whose sizes have not
  /// been measured yet. A page has `page` files.
  std::vector<Measured> Unmeasured(size_t page) const;
  /// Stores the sizes in `measured`, which must come from a call of Unmeasured
  /// after the last Enter, Leave or Search, because these may replace files().
  void Take(const std::vector<Measured>& measured);

  /// Moves the selection, stopping at the ends.
  void Move(ptrdiff_t by);

  /// Enters the selected directory or container. Returns false for other files.
  Result<bool> Enter();
  /// Shows the parent directory and selects the directory that was left.
  Status Leave();

  /// Selects the next file whose name contains `text`, ignoring case: first
  /// after the selection, then from the start, then in subdirectories. Fails
  /// with kNotFound if there is none.
  Status Search(const std::string& text);

 private:
  Status List(const SourceTree::File& directory);
  /// Shows the directory of `path` and selects the file.
  Status Show(std::string path);
  /// The first match below `directory`, depth first.
  Result<SourceTree::File> FindBelow(const SourceTree::File& directory,
                                     const std::string& text, unsigned depth);

  SourceTree& tree_;
  SourceTree::File directory_{};
  std::vector<SourceTree::File> files_;
  std::vector<std::optional<uint64_t>> sizes_;  // of files_
  size_t longest_name_ = 0;
  uint64_t left_out_ = 0;
  size_t selected_ = 0;
};

}  // namespace ctxfs
