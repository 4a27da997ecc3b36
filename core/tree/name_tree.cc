// SPDX-License-Identifier: Apache-2.0
#include "core/tree/name_tree.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/base/seed.h"

namespace ctxfs {

std::string_view NameTree::Name(NodeId node) const {
  const std::span<const char> name =
      names_.Together(nodes_[node].name, nodes_[node].length);
  return {name.data(), name.size()};
}

size_t NameTree::Slot(NodeId parent, std::string_view name) const {
  const uint64_t hash =
      XXH3_64bits_withSeed(name.data(), name.size(), seed_ + parent);
  const size_t mask = table_.size() - 1;
  size_t slot = hash & mask;
  while (table_[slot] != kFree) {
    const NodeId node = table_[slot];
    if (nodes_[node].parent == parent && Name(node) == name) break;
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::optional<NodeId> NameTree::Lookup(NodeId directory,
                                       std::string_view name) const {
  const uint32_t found = table_[Slot(directory, name)];
  if (found == kFree) return std::nullopt;
  return found;
}

std::string NameTree::Path(NodeId node) const {
  size_t size = 0;
  for (NodeId at = node; at != kRoot; at = Parent(at)) {
    size += Name(at).size() + 1;
  }
  if (size == 0) return {};
  std::string path(size - 1, '/');
  // Fills the path from its end, because prepending 255 long components would
  // copy the path 255 times.
  for (NodeId at = node; at != kRoot; at = Parent(at)) {
    const std::string_view name = Name(at);
    size -= name.size() + 1;
    path.replace(size, name.size(), name);
  }
  return path;
}

TreeBuilder::TreeBuilder(uint32_t nodes, const TreeLimits& most) : most_(most) {
  tree_.seed_ = RandomSeed();
  const size_t slots =
      std::bit_ceil(2 * (size_t{std::min(nodes, most.nodes)} + 8));
  full_ = !HeapAllowance::Admit(slots * sizeof(uint32_t));
  Rehash(full_ ? 1 : slots);
  // The root is not in table_, because it is no node's child.
  tree_.nodes_.push_back({0, NameTree::kRoot, 0, 0, NodeType::kDirectory});
}

void TreeBuilder::Rehash(size_t slots) {
  tree_.table_ = {};  // freed first, so that two never coexist
  tree_.table_.assign(slots, NameTree::kFree);
  for (NodeId node = 1; node < tree_.node_count(); ++node) {
    tree_.table_[tree_.Slot(tree_.Parent(node), tree_.Name(node))] = node;
  }
}

NodeId TreeBuilder::Add(size_t slot, NodeId parent, std::string_view name,
                        uint32_t value, NodeType type) {
  // Offsets of names have 32 bits, whatever the limit.
  const uint64_t room = std::min<uint64_t>(most_.name_bytes, UINT32_MAX);
  full_ = full_ || tree_.nodes_.size() >= most_.nodes ||
          !InBounds(tree_.names_.size(), limits::kComponentBytes, room) ||
          !HeapAllowance::Check();
  if (full_) return NameTree::kRoot;
  const NodeId node = tree_.node_count();
  const size_t at = tree_.names_.Append({name.data(), name.size()});
  tree_.nodes_.push_back({static_cast<uint32_t>(at), parent, value,
                          static_cast<uint8_t>(name.size()), type});
  tree_.table_[slot] = node;
  const size_t slots = tree_.table_.size();
  if (tree_.nodes_.size() * 2 > slots) {
    full_ = !HeapAllowance::Admit(2 * slots * sizeof(uint32_t));
    if (!full_) Rehash(2 * slots);
  }
  return node;
}

std::optional<NodeType> TreeBuilder::TypeAt(NodeId parent,
                                            std::string_view name) const {
  const std::optional<NodeId> node = tree_.Lookup(parent, name);
  if (!node) return std::nullopt;
  return tree_.Type(*node);
}

NodeId TreeBuilder::MakeDirectory(NodeId parent, std::string_view name) {
  const size_t slot = tree_.Slot(parent, name);
  const uint32_t found = tree_.table_[slot];
  if (found == NameTree::kFree) {
    return Add(slot, parent, name, 0, NodeType::kDirectory);
  }
  NameTree::Node& node = tree_.nodes_[found];
  if (node.type != NodeType::kDirectory) {
    unnamed_.push_back({parent, found, node.value, node.type});
    node.type = NodeType::kDirectory;
    node.value = 0;
  }
  return found;
}

void TreeBuilder::AddFile(NodeId parent, std::string_view name, FileId file,
                          bool replace, NodeType type) {
  const size_t slot = tree_.Slot(parent, name);
  const uint32_t found = tree_.table_[slot];
  if (found == NameTree::kFree) {
    Add(slot, parent, name, file, type);
    return;
  }
  NameTree::Node& node = tree_.nodes_[found];
  if (replace && node.type != NodeType::kDirectory) {
    std::swap(node.value, file);
    std::swap(node.type, type);
  }
  unnamed_.push_back({parent, found, file, type});
}

std::string TreeBuilder::FreeName(NodeId parent, std::string_view name) {
  return free_names_.Find({parent, name}, [&](const std::string& one) {
    return tree_.Lookup(parent, one).has_value();
  });
}

void TreeBuilder::ResolveConflicts() {
  std::sort(unnamed_.begin(), unnamed_.end(),
            [](const Unnamed& a, const Unnamed& b) { return a.file < b.file; });
  for (; !unnamed_.empty() && ok(); unnamed_.pop_front()) {
    const Unnamed one = unnamed_.front();
    const std::string wanted(tree_.Name(one.taken_by));
    FreeNames::Series series{one.parent, wanted};
    if (tree_.IsDirectory(one.taken_by)) {
      series.mark = "~file";
    } else {
      series.first_is_taken = true;
    }
    size_t slot = 0;
    const std::string name =
        free_names_.Find(series, [&](const std::string& candidate) {
          slot = tree_.Slot(one.parent, candidate);
          return tree_.table_[slot] != NameTree::kFree;
        });
    Add(slot, one.parent, name, one.file, one.type);
  }
}

Result<NameTree> TreeBuilder::Build() && {
  ResolveConflicts();
  if (!ok()) {
    CTXFS_TRY(HeapAllowance::Check());
    return Error{
        Code::kLimit,
        fmt::format(
            "names: more than {} files and directories, or more than {} bytes",
            most_.nodes, most_.name_bytes)};
  }
  auto& nodes = tree_.nodes_;
  std::vector<uint32_t>& children = tree_.children_;
  // A directory's value first counts its children, then becomes their index.
  for (NodeId node = 1; node < nodes.size(); ++node) {
    ++nodes[nodes[node].parent].value;
  }
  uint32_t place = 0;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    if (nodes[node].type != NodeType::kDirectory) continue;
    place += NameTree::kCounts + std::exchange(nodes[node].value, place);
  }
  CTXFS_TRY(HeapAllowance::Admit(place * sizeof(uint32_t)));
  children.resize(place);
  for (NodeId node = 1; node < nodes.size(); ++node) {
    const uint32_t at = nodes[nodes[node].parent].value;
    children[at + NameTree::kCounts + children[at]++] = node;
    if (nodes[node].type == NodeType::kDirectory) ++children[at + 1];
  }
  nodes.shrink_to_fit();
  tree_.names_.shrink_to_fit();
  tree_.names_tried_ = free_names_.tried();
  return std::move(tree_);
}

}  // namespace ctxfs
