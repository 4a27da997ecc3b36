// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/file_table.h"
#include "core/tree/file_tree.h"

namespace ctxfs {

/// A table of numbered files as a tree: the root is the directory, node i + 1
/// is file i. Names are computed from numbers and numbers from names, in
/// constant time and no memory. `table` must outlive this object.
class NumberedDirectory final : public FileTree {
 public:
  explicit NumberedDirectory(const FileTable& table)
      : table_(&table), numbering_(&*table.placement().numbering) {}

  NodeType Type(NodeId node) const override {
    return node == kRoot ? NodeType::kDirectory : NodeType::kFile;
  }
  NodeId Parent(NodeId /*node*/) const override { return kRoot; }
  std::string Path(NodeId node) const override;
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const override;
  uint32_t ChildCount(NodeId /*directory*/) const override {
    return table_->count();
  }
  Child ChildAt(NodeId directory, uint32_t index) const override;
  std::optional<uint32_t> DirectoryCount(NodeId /*directory*/) const override {
    return 0;
  }
  File At(NodeId file) const override { return {table_, file - 1}; }

 private:
  std::string Name(uint32_t file) const;

  const FileTable* table_;
  const Numbering* numbering_;
};

}  // namespace ctxfs
