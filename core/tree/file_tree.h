// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/file_table.h"
#include "core/content/content.h"
#include "core/content/read_context.h"
#include "core/tree/name_tree.h"

namespace ctxfs {

class NumberedDirectory;

/// A tree of files: names, each with the table and number of its file. Nodes
/// are numbered from 0, the root. Immutable.
class FileTree {
 public:
  static constexpr NodeId kRoot = 0;

  struct Child {
    NodeId node;
    std::string name;
    NodeType type;

    bool directory() const { return type == NodeType::kDirectory; }
  };

  /// File `number` of `table`, which lives as long as the tree.
  struct File {
    const FileTable* table;
    uint32_t number;
  };

  FileTree() = default;
  virtual ~FileTree() = default;
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  virtual NodeType Type(NodeId node) const = 0;
  bool IsDirectory(NodeId node) const {
    return Type(node) == NodeType::kDirectory;
  }
  /// The root is its own parent.
  virtual NodeId Parent(NodeId node) const = 0;
  /// The path from the root: "a/b", empty for the root itself.
  virtual std::string Path(NodeId node) const = 0;

  virtual std::optional<NodeId> Lookup(NodeId directory,
                                       std::string_view name) const = 0;
  virtual uint32_t ChildCount(NodeId directory) const = 0;
  virtual Child ChildAt(NodeId directory, uint32_t index) const = 0;

  /// The file at a node that is not a directory.
  virtual File At(NodeId file) const = 0;

  /// The node of the file's first name: a file with hard links has several. A
  /// node without other names is its own first name.
  virtual NodeId FirstName(NodeId node) const { return node; }
  /// Number of names of the file at a node.
  virtual uint32_t NameCount(NodeId /*node*/) const { return 1; }

  /// The target of a link as shown: with names made safe like those of the
  /// tree. The kernel resolves it from the directory of the link.
  virtual std::string LinkTarget(NodeId /*link*/) const { return {}; }

  /// Whether a directory shows a container in place of children.
  virtual bool ShowsContainer(NodeId /*directory*/) const { return false; }
  /// The container that a directory shows; nullopt if it shows none.
  virtual std::optional<ChildContainer> NestedAt(NodeId /*directory*/) const {
    return std::nullopt;
  }
  /// The numbered files that a directory shows in place of children; null if
  /// it shows none.
  virtual const NumberedDirectory* Numbered(NodeId /*directory*/) const {
    return nullptr;
  }

  /// Returns the directory for a role without primary files: `views` for
  /// kViews, `.ctxfs` for kMetadata, even if it is renamed because an entry has
  /// that name. It is in the root, and listings may omit it.
  virtual std::optional<NodeId> Aside(Role /*role*/) const {
    return std::nullopt;
  }

  /// The number of directories in a directory, including those of Aside.
  /// nullopt if counting them requires reading.
  virtual std::optional<uint32_t> DirectoryCount(NodeId directory) const = 0;

  /// Whether a node exists: see FileTable::Exists.
  Result<bool> Exists(NodeId node, Cost most,
                      const ReadContext& context) const {
    if (IsDirectory(node)) return DirectoryExists(node, most, context);
    const File file = At(node);
    return file.table->Exists(file.number, most, context);
  }

  // FileTable's functions, by node.

  StoredAttributes StoredAttributesOf(NodeId node) const {
    if (IsDirectory(node)) return StoredAttributesOfDirectory(node);
    const File file = At(node);
    return file.table->StoredAttributesOf(file.number);
  }

  virtual Result<uint64_t> Size(NodeId node, const ReadContext& context) const {
    if (Type(node) == NodeType::kLink) return LinkTarget(node).size();
    const File file = At(node);
    return file.table->Size(file.number, context);
  }
  virtual Cost SizeCost(NodeId node) const {
    const File file = At(node);
    return file.table->size_cost(file.number);
  }
  Result<Content> Open(NodeId node, const ReadContext& context) const {
    const File file = At(node);
    return file.table->Open(file.number, context);
  }
  /// The index's description of a file; nullopt for a directory.
  std::optional<EntryInfo> Describe(NodeId node,
                                    const ReadContext& context) const {
    if (IsDirectory(node)) return std::nullopt;
    const File file = At(node);
    std::optional<EntryInfo> info = file.table->Describe(file.number, context);
    if (info && info->add_findings) {
      std::exchange(info->add_findings, nullptr)(*info, context);
    }
    return info;
  }

 protected:
  virtual StoredAttributes StoredAttributesOfDirectory(
      NodeId /*directory*/) const {
    return {};
  }
  virtual Result<bool> DirectoryExists(NodeId /*directory*/, Cost /*most*/,
                                       const ReadContext& /*context*/) const {
    return true;
  }
};

/// A FileTree whose names are in a NameTree, which the derived class builds.
class TreeFiles : public FileTree {
 public:
  const NameTree& tree() const { return tree_; }

  NodeType Type(NodeId node) const final { return tree_.Type(node); }
  NodeId Parent(NodeId node) const final { return tree_.Parent(node); }
  std::string Path(NodeId node) const final { return tree_.Path(node); }
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const final {
    return tree_.Lookup(directory, name);
  }
  uint32_t ChildCount(NodeId directory) const final {
    return tree_.ChildCount(directory);
  }
  Child ChildAt(NodeId directory, uint32_t index) const final {
    const NodeId node = tree_.Child(directory, index);
    return {node, std::string(tree_.Name(node)), tree_.Type(node)};
  }
  std::optional<uint32_t> DirectoryCount(NodeId directory) const override {
    return tree_.DirectoryCount(directory);
  }

 protected:
  NameTree tree_;
};

}  // namespace ctxfs
