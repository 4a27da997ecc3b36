// SPDX-License-Identifier: Apache-2.0
#include "core/formats/megacontext/snapshot.h"

#include <utility>
#include <vector>

namespace ctxfs::megacontext {
namespace {

using SourcePtr = std::shared_ptr<const Source>;

class SnapshotSource final : public Source {
 public:
  SnapshotSource(SourcePtr tree, SourcePtr directory, std::string path)
      : tree_(std::move(tree)),
        directory_(std::move(directory)),
        path_(std::move(path)) {}

  uint64_t size() const override { return 0; }
  FileTime mtime() const override { return directory_->mtime(); }
  bool is_directory() const override { return true; }
  Status ReadAt(uint64_t offset, MutableBytes out) const override {
    return directory_->ReadAt(offset, out);
  }
  Result<std::vector<DirectoryEntry>> List() const override {
    auto listing = directory_->List();
    if (listing) {
      std::erase_if(*listing,
                    [](const auto& entry) { return entry.directory; });
    }
    return listing;
  }
  Result<SourcePtr> OpenBeside(const std::string& path) const override {
    return tree_->OpenBeside(path_ + "/" + path);
  }

 private:
  const SourcePtr tree_;
  const SourcePtr directory_;
  const std::string path_;  // of the snapshot, from the tree
};

}  // namespace

std::shared_ptr<const Source> OpenSnapshot(
    std::shared_ptr<const Source> tree, std::shared_ptr<const Source> directory,
    std::string path) {
  return std::make_shared<const SnapshotSource>(
      std::move(tree), std::move(directory), std::move(path));
}

}  // namespace ctxfs::megacontext
