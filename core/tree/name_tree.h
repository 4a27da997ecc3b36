// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/tree/free_names.h"
#include "core/tree/segmented_vector.h"

namespace ctxfs {

using NodeId = uint32_t;
using FileId = uint32_t;

enum class NodeType : uint8_t { kFile, kDirectory, kLink };

/// Names and file numbers, without content. A node costs 16 bytes, its name, 4
/// bytes in its parent's list, and 8 to 16 in the look-up table; a directory
/// costs 8 more. Immutable; built by TreeBuilder.
class NameTree {
 public:
  static constexpr NodeId kRoot = 0;

  /// Number of directories and files, including the root.
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }

  NodeType Type(NodeId node) const { return nodes_[node].type; }
  bool IsDirectory(NodeId node) const {
    return Type(node) == NodeType::kDirectory;
  }
  std::string_view Name(NodeId node) const;
  /// The root is its own parent.
  NodeId Parent(NodeId node) const { return nodes_[node].parent; }
  /// The number of the file or link at a node that is not a directory.
  FileId File(NodeId node) const { return nodes_[node].value; }

  /// The child of `directory` called `name`, in constant time.
  std::optional<NodeId> Lookup(NodeId directory, std::string_view name) const;

  /// The number of a directory's children, which are in the order of their
  /// first occurrence.
  uint32_t ChildCount(NodeId directory) const {
    return children_[nodes_[directory].value];
  }
  NodeId Child(NodeId directory, uint32_t index) const {
    return children_[nodes_[directory].value + kCounts + index];
  }
  /// The number of children that are directories.
  uint32_t DirectoryCount(NodeId directory) const {
    return children_[nodes_[directory].value + 1];
  }

  /// The path from the root: "a/b", empty for the root itself.
  std::string Path(NodeId node) const;

  /// Number of names that were tried in searches for free ones.
  uint64_t names_tried() const { return names_tried_; }

 private:
  friend class TreeBuilder;

  struct Node {
    uint32_t name;  // its start in names_
    NodeId parent;
    uint32_t value;  // a file's number, or a directory's index in children_
    uint8_t length;  // of the name; at most 255 bytes
    NodeType type;
  };
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr uint32_t kCounts = 2;  // before a directory's children

  /// The slot of table_ for the child `name` of `parent`; free if there is no
  /// such child.
  size_t Slot(NodeId parent, std::string_view name) const;

  SegmentedVector<Node, 16> nodes_;
  SegmentedVector<char, 18> names_;  // no name is in two segments
  /// For each directory: the number of its children, the number of directories
  /// among them, then the children.
  std::vector<uint32_t> children_;
  std::vector<uint32_t> table_;  // nodes by (parent, name); its size is 2^n
  uint64_t seed_ = 0;            // against names crafted to collide
  uint64_t names_tried_ = 0;
};

/// Maximum size of a NameTree.
struct TreeLimits {
  uint32_t nodes = limits::kTreeNodes;
  uint64_t name_bytes = limits::kTreeNameBytes;
};

/// Collects paths into a NameTree. Names must be safe components
/// (core/tree/safe_name.h). If several files claim a name, the file that was
/// added first keeps it, unless AddFile got `replace` (docs/tree.md, section
/// 7). After exceeding a limit, a builder adds nothing more, so one test of
/// ok() at the end suffices. Running out of memory (HeapAllowance) has the same
/// effect.
class TreeBuilder {
 public:
  /// `nodes`: an estimate of their number.
  explicit TreeBuilder(uint32_t nodes = 0, const TreeLimits& most = {});

  bool ok() const { return !full_; }

  /// The type of the child `name` of `parent`; nullopt if there is none.
  std::optional<NodeType> TypeAt(NodeId parent, std::string_view name) const;

  /// The directory `name` of `parent`, created if needed. A file of that name
  /// is renamed.
  NodeId MakeDirectory(NodeId parent, std::string_view name);

  /// Adds a file at `name`; if that is taken, ResolveConflicts finds another
  /// name. If `replace` is set, an existing file is renamed instead. `type` is
  /// kFile or kLink.
  void AddFile(NodeId parent, std::string_view name, FileId file,
               bool replace = false, NodeType type = NodeType::kFile);

  /// Names the files whose names were taken, in the order of their numbers:
  /// NAME~file beside a directory, else NAME~2, NAME~3, ... before the
  /// extension. Must be called after all files were added that must keep their
  /// names.
  void ResolveConflicts();

  /// `name` if it is free in `parent`, else the first free one of NAME~2, ....
  std::string FreeName(NodeId parent, std::string_view name);

  /// Resolves conflicts and returns the tree. Fails with kLimit if the tree
  /// would be too large, or with the error of HeapAllowance.
  Result<NameTree> Build() &&;

 private:
  struct Unnamed {
    NodeId parent;
    NodeId taken_by;  // the node that has the name
    FileId file;
    NodeType type;
  };

  /// Adds a node; returns the root if a limit is exceeded or memory is refused.
  NodeId Add(size_t slot, NodeId parent, std::string_view name, uint32_t value,
             NodeType type);
  void Rehash(size_t slots);

  const TreeLimits most_;
  bool full_ = false;
  NameTree tree_;
  FreeNames free_names_;
  std::deque<Unnamed> unnamed_;
};

}  // namespace ctxfs
