// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/file_table.h"
#include "core/tree/file_tree.h"

namespace ctxfs {

/// A table of numbered files, or directories, as a tree: the root is the
/// directory, node i + 1 is file i. Names are computed from numbers and numbers
/// from names, in constant time and no memory. `table` must outlive this
/// object.
class NumberedDirectory final : public FileTree {
 public:
  explicit NumberedDirectory(const FileTable& table)
      : table_(&table), numbering_(&*table.placement().numbering) {}

  /// Finds the suffix of the names (Numbering::find_suffix), once. Must have
  /// succeeded before a name is used. Fails only with transient errors.
  Status FindNames(const ReadContext& context) const;

  NodeType Type(NodeId node) const override {
    return node == kRoot || HoldsDirectories() ? NodeType::kDirectory
                                               : NodeType::kFile;
  }
  NodeId Parent(NodeId /*node*/) const override { return kRoot; }
  std::string Path(NodeId node) const override;
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const override;
  uint32_t ChildCount(NodeId directory) const override {
    return directory == kRoot ? table_->count() : 0;
  }
  Child ChildAt(NodeId directory, uint32_t index) const override;
  /// The directories in a numbered one are not counted, because they are views.
  std::optional<uint32_t> DirectoryCount(NodeId directory) const override {
    if (directory != kRoot || HoldsDirectories()) return std::nullopt;
    return 0;
  }
  File At(NodeId file) const override { return {table_, file - 1}; }
  bool ShowsContainer(NodeId directory) const override {
    return directory != kRoot && HoldsDirectories();
  }
  std::optional<ChildContainer> NestedAt(NodeId directory) const override;

  const FileTable& table() const { return *table_; }
  bool HoldsDirectories() const {
    return numbering_->open_directory != nullptr;
  }

 private:
  const std::string& Suffix() const;
  std::string Name(uint32_t file) const;

  const FileTable* table_;
  const Numbering* numbering_;
  mutable std::unique_ptr<const std::string> kept_;  // set before found_
  mutable std::atomic<const std::string*> found_ = nullptr;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs
