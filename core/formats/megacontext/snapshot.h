// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/io/source.h"

namespace ctxfs::megacontext {

/// A snapshot of a tree: the `directory` at `path`, without subdirectories. Its
/// files may be links into the tree, so they are opened beneath the tree, not
/// beneath `directory`.
class SnapshotSource final : public Source {
 public:
  SnapshotSource(std::shared_ptr<const Source> tree,
                 std::shared_ptr<const Source> directory, std::string path)
      : tree_(std::move(tree)),
        directory_(std::move(directory)),
        path_(std::move(path)) {}

  uint64_t size() const override { return 0; }
  FileTime mtime() const override { return directory_->mtime(); }
  bool is_directory() const override { return true; }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    return directory_->ReadAt(offset, out, request);
  }
  Result<std::vector<DirectoryEntry>> List(
      const Request& request) const override {
    auto listing = directory_->List(request);
    if (listing)
      std::erase_if(*listing, std::mem_fn(&DirectoryEntry::directory));
    return listing;
  }
  Result<std::shared_ptr<const Source>> OpenBeside(
      const std::string& path, const Request& request) const override {
    return tree_->OpenBeside(path_ + "/" + path, request);
  }

 private:
  const std::shared_ptr<const Source> tree_;
  const std::shared_ptr<const Source> directory_;
  const std::string path_;
};

}  // namespace ctxfs::megacontext
