// SPDX-License-Identifier: Apache-2.0
#include "core/tree/tree.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <random>
#include <unordered_map>

#include "core/base/limits.h"
#include "core/tree/safe_name.h"

namespace ctxfs {

std::string_view Tree::Name(NodeId node) const {
  return {names_.data() + nodes_[node].name, nodes_[node].length};
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

TreeBuilder::TreeBuilder(uint32_t nodes) {
  tree_.seed_ = std::random_device()();
  tree_.nodes_.reserve(size_t{nodes} + 1);
  Rehash(std::bit_ceil(2 * (size_t{nodes} + 8)));
  // The root is in no table: nothing has it as a child.
  tree_.nodes_.push_back({0, Tree::kRoot, 0, 0, true});
}

void TreeBuilder::Rehash(size_t slots) {
  tree_.table_.assign(slots, Tree::kFree);
  for (NodeId node = 1; node < tree_.node_count(); ++node) {
    tree_.table_[tree_.Slot(tree_.Parent(node), tree_.Name(node))] = node;
  }
}

NodeId TreeBuilder::Add(size_t slot, NodeId parent, std::string_view name,
                        uint32_t value, bool directory) {
  const NodeId node = tree_.node_count();
  const auto at = static_cast<uint32_t>(tree_.names_.size());
  tree_.names_.insert(tree_.names_.end(), name.begin(), name.end());
  tree_.nodes_.push_back(
      {at, parent, value, static_cast<uint8_t>(name.size()), directory});
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
  std::sort(unnamed_.begin(), unnamed_.end(),
            [](const Unnamed& a, const Unnamed& b) { return a.file < b.file; });
  // Where the search for a free number goes on, for a million equal names; by
  // what is numbered, since long names are cut alike.
  std::unordered_map<std::string, uint64_t> next;
  for (const Unnamed& one : unnamed_) {
    const std::string wanted(tree_.Name(one.taken_by));
    const bool beside_directory = tree_.IsDirectory(one.taken_by);
    const std::string mark = beside_directory ? "~file" : "";
    const auto marked = [&](const std::string& number) {
      return MarkedComponent(wanted, mark + number,
                             /*before_extension=*/!beside_directory);
    };
    uint64_t& n =
        next.try_emplace(std::to_string(one.parent) + "/" + marked(""),
                         beside_directory ? 1 : 2)
            .first->second;
    size_t slot = 0;
    std::string name;
    do {
      name = marked(n == 1 ? "" : "~" + std::to_string(n));
      slot = tree_.Slot(one.parent, name);
      ++n;
    } while (tree_.table_[slot] != Tree::kFree);
    Add(slot, one.parent, name, one.file, false);
  }
  unnamed_.clear();
}

Tree TreeBuilder::Build() && {
  Settle();
  std::vector<Tree::Node>& nodes = tree_.nodes_;
  std::vector<uint32_t>& children = tree_.children_;
  std::vector<uint32_t> counts(nodes.size());
  for (NodeId node = 1; node < nodes.size(); ++node) {
    ++counts[nodes[node].parent];
  }
  uint32_t place = 0;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].directory) continue;
    nodes[node].value = place;
    place += 1 + counts[node];
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
