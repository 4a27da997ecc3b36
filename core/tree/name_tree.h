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

/// The type of a node of a tree.
enum class NodeType : uint8_t { kFile, kDirectory, kLink };

/// Names and nothing else: which paths there are, and the number of the file
/// at each. A node costs 16 bytes, its name, 4 bytes in its parent's list, 8 in
/// the look-up table, and a directory 8 more. Immutable; built by TreeBuilder.
class NameTree {
 public:
  static constexpr NodeId kRoot = 0;

  /// Directories and files, the root among them.
  uint32_t node_count() const { return static_cast<uint32_t>(nodes_.size()); }

  NodeType Type(NodeId node) const { return nodes_[node].type; }
  bool IsDirectory(NodeId node) const {
    return Type(node) == NodeType::kDirectory;
  }
  std::string_view Name(NodeId node) const;
  /// The root is its own parent.
  NodeId Parent(NodeId node) const { return nodes_[node].parent; }
  /// The file or link at a node that is not a directory.
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
  /// How many of the children are directories.
  uint32_t DirectoryCount(NodeId directory) const {
    return children_[nodes_[directory].value + 1];
  }

  /// From the root: "a/b", empty for the root itself.
  std::string Path(NodeId node) const;

  /// How many names were tried while free ones were searched for.
  uint64_t names_tried() const { return names_tried_; }

 private:
  friend class TreeBuilder;

  struct Node {
    uint32_t name;  // where it starts in names_
    NodeId parent;
    uint32_t value;  // a file's number, or a directory's place in children_
    uint8_t length;  // of the name; 255 bytes at the most
    NodeType type;
  };
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr uint32_t kCounts = 2;  // before a directory's children

  /// The slot of table_ that holds the node, or the free one it would take.
  size_t Slot(NodeId parent, std::string_view name) const;

  SegmentedVector<Node, 16> nodes_;
  SegmentedVector<char, 18> names_;  // each in one segment
  /// Of each directory: how many children it has and how many of these are
  /// directories, then the children.
  std::vector<uint32_t> children_;
  std::vector<uint32_t> table_;  // node ids by (parent, name); a power of two
  uint64_t seed_ = 0;            // against names made to collide
  uint64_t names_tried_ = 0;
};

/// How large a NameTree may become.
struct TreeLimits {
  uint32_t nodes = limits::kTreeNodes;
  uint64_t name_bytes = limits::kTreeNameBytes;
};

/// Collects paths into a NameTree. Names are safe components; where several
/// files want one, the lowest file number keeps it (docs/tree.md, section 7). A
/// builder that has met a limit takes nothing more, for good: one test of ok()
/// at the end. One without memory for more (HeapAllowance) does the same.
class TreeBuilder {
 public:
  /// `nodes`: about how many there will be.
  explicit TreeBuilder(uint32_t nodes = 0, const TreeLimits& most = {});

  bool ok() const { return !full_; }

  /// The type of the child `name` of `parent`; nullopt if there is none.
  std::optional<NodeType> TypeAt(NodeId parent, std::string_view name) const;

  /// The directory `name` of `parent`, made if it is not there. A file in its
  /// place is moved aside.
  NodeId MakeDirectory(NodeId parent, std::string_view name);

  /// Puts a file at `name`; if that is taken, ResolveConflicts finds it another
  /// name. A file that is there already is moved aside instead if `replace` is
  /// set. Files come in the order of their numbers. `type` is that of a file or
  /// a link.
  void AddFile(NodeId parent, std::string_view name, FileId file,
               bool replace = false, NodeType type = NodeType::kFile);

  /// Names the files whose names were taken: NAME~file beside a directory,
  /// else NAME~2, NAME~3, ... before the extension. To be called when all
  /// files that must keep their names have been added.
  void ResolveConflicts();

  /// `name` if it is free in `parent`, else the first of NAME~2, ... that is.
  std::string FreeName(NodeId parent, std::string_view name);

  /// Settles and gives the tree; kLimit for one that would be too large.
  Result<NameTree> Build() &&;

 private:
  struct Unnamed {
    NodeId parent;
    NodeId taken_by;  // the node that has the name
    FileId file;
    NodeType type;
  };

  /// The root when there is no room for one more.
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
