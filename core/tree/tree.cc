// SPDX-License-Identifier: Apache-2.0
#include "core/tree/tree.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/tree/safe_name.h"

namespace ctxfs {

std::string_view Tree::Name(NodeId node) const {
  const std::span<const char> name =
      names_.Together(nodes_[node].name, nodes_[node].length);
  return {name.data(), name.size()};
}

size_t Tree::Slot(NodeId parent, std::string_view name) const {
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

std::optional<NodeId> Tree::Lookup(NodeId directory,
                                   std::string_view name) const {
  const uint32_t found = table_[Slot(directory, name)];
  if (found == kFree) return std::nullopt;
  return found;
}

std::string Tree::Path(NodeId node) const {
  if (node == kRoot) return {};
  const std::string above = Path(Parent(node));
  return above.empty() ? std::string(Name(node))
                       : above + "/" + std::string(Name(node));
}

TreeBuilder::TreeBuilder(uint32_t nodes, const TreeLimits& most) : most_(most) {
  tree_.seed_ = std::random_device()();
  Rehash(std::bit_ceil(2 * (size_t{std::min(nodes, most.nodes)} + 8)));
  // The root is in no table: nothing has it as a child.
  tree_.nodes_.push_back({0, Tree::kRoot, 0, 0, true});
}

void TreeBuilder::Rehash(size_t slots) {
  tree_.table_ = {};  // first, so that there are never two
  tree_.table_.assign(slots, Tree::kFree);
  for (NodeId node = 1; node < tree_.node_count(); ++node) {
    tree_.table_[tree_.Slot(tree_.Parent(node), tree_.Name(node))] = node;
  }
}

NodeId TreeBuilder::Add(size_t slot, NodeId parent, std::string_view name,
                        uint32_t value, bool directory) {
  // Names are found by 32 bits, whatever the limit.
  const uint64_t room = std::min<uint64_t>(most_.name_bytes, UINT32_MAX);
  full_ = full_ || tree_.nodes_.size() >= most_.nodes ||
          !InBounds(tree_.names_.size(), limits::kComponentBytes, room);
  if (full_) return Tree::kRoot;
  const NodeId node = tree_.node_count();
  const size_t at = tree_.names_.Append({name.data(), name.size()});
  tree_.nodes_.push_back({static_cast<uint32_t>(at), parent, value,
                          static_cast<uint8_t>(name.size()), directory});
  tree_.table_[slot] = node;
  if (tree_.nodes_.size() * 2 > tree_.table_.size()) {
    Rehash(tree_.table_.size() * 2);
  }
  return node;
}

NodeId TreeBuilder::MakeDirectory(NodeId parent, std::string_view name) {
  const size_t slot = tree_.Slot(parent, name);
  const uint32_t found = tree_.table_[slot];
  if (found == Tree::kFree) return Add(slot, parent, name, 0, true);
  Tree::Node& node = tree_.nodes_[found];
  if (!node.directory) {
    unnamed_.push_back({parent, found, node.value});
    node.directory = true;
    node.value = 0;
  }
  return found;
}

void TreeBuilder::AddFile(NodeId parent, std::string_view name, FileId file) {
  const size_t slot = tree_.Slot(parent, name);
  const uint32_t found = tree_.table_[slot];
  if (found == Tree::kFree) {
    Add(slot, parent, name, file, false);
  } else {
    unnamed_.push_back({parent, found, file});
  }
}

std::string TreeBuilder::FreeName(NodeId parent, std::string_view name) const {
  std::string free(name);
  for (uint64_t n = 2; tree_.Lookup(parent, free); ++n) {
    free = MarkedComponent(name, "~" + std::to_string(n), true);
  }
  return free;
}

void TreeBuilder::Settle() {
  // A search that has gone on for so long is not begun anew by the next file.
  constexpr uint64_t kLong = 4;
  std::sort(unnamed_.begin(), unnamed_.end(),
            [](const Unnamed& a, const Unnamed& b) { return a.file < b.file; });
  // Where the search for a free number goes on, for a million equal names; by
  // what is numbered, since long names are cut alike. For a million pairs of
  // equal names it stays empty.
  std::unordered_map<std::string, uint64_t> next;
  for (; !unnamed_.empty() && ok(); unnamed_.pop_front()) {
    const Unnamed one = unnamed_.front();
    const std::string wanted(tree_.Name(one.taken_by));
    const bool beside_directory = tree_.IsDirectory(one.taken_by);
    const std::string mark = beside_directory ? "~file" : "";
    const auto marked = [&](const std::string& number) {
      return MarkedComponent(wanted, mark + number,
                             /*before_extension=*/!beside_directory);
    };
    const uint64_t first = beside_directory ? 1 : 2;
    uint64_t n = first;
    uint64_t* reached = nullptr;
    size_t slot = 0;
    std::string name;
    while (true) {
      name = marked(n == 1 ? "" : "~" + std::to_string(n));
      slot = tree_.Slot(one.parent, name);
      ++n;
      if (tree_.table_[slot] == Tree::kFree) break;
      if (reached == nullptr && n == first + kLong) {
        reached = &next[std::to_string(one.parent) + "/" + marked("")];
        n = std::max(n, *reached);
      }
    }
    if (reached != nullptr) *reached = n;
    Add(slot, one.parent, name, one.file, false);
  }
}

Result<Tree> TreeBuilder::Build() && {
  Settle();
  if (!ok()) {
    return Error{Code::kLimit, "names: more than " +
                                   std::to_string(most_.nodes) +
                                   " files and directories, or more than " +
                                   std::to_string(most_.name_bytes) + " bytes"};
  }
  auto& nodes = tree_.nodes_;
  std::vector<uint32_t>& children = tree_.children_;
  // A directory's value is first how many children it has, then where they are.
  for (NodeId node = 1; node < nodes.size(); ++node) {
    ++nodes[nodes[node].parent].value;
  }
  uint32_t place = 0;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].directory) continue;
    place += 1 + std::exchange(nodes[node].value, place);
  }
  children.resize(place);
  for (NodeId node = 1; node < nodes.size(); ++node) {
    const uint32_t at = nodes[nodes[node].parent].value;
    children[at + ++children[at]] = node;
  }
  nodes.shrink_to_fit();
  tree_.names_.shrink_to_fit();
  return std::move(tree_);
}

}  // namespace ctxfs
