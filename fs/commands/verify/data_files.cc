// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/data_files.h"

#include <algorithm>
#include <iterator>

namespace ctxfs {

std::string DataFile::PathIn(const ContainerTree& tree) const {
  const std::string path = files->Path(node);
  if (directory == NameTree::kRoot) return path;
  return tree.Path(directory) + "/" + path;
}

DataFiles::DataFiles(const ContainerTree& tree) : tree_(tree) {
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.Type(node) != NodeType::kFile || !tree.IsData(node)) continue;
    (tree.FirstName(node) == node ? nodes_ : other_names_).push_back(node);
  }
}

std::vector<std::pair<std::string, Error>> DataFiles::AddNumbered(
    const ReadContext& context) {
  std::vector<std::pair<std::string, Error>> failed;
  for (const NodeId directory : tree_.NumberedDirectories()) {
    const NumberedDirectory& numbered = *tree_.Numbered(directory);
    if (!IsStored(numbered.table().placement().role)) continue;
    if (Status found = numbered.FindNames(context); !found) {
      failed.emplace_back(tree_.Path(directory), std::move(found).error());
    } else {
      numbered_.push_back({&numbered, directory, count()});
    }
  }
  return failed;
}

uint64_t DataFiles::count() const {
  if (numbered_.empty()) return nodes_.size();
  return numbered_.back().start + numbered_.back().files->table().count();
}

DataFile DataFiles::At(uint64_t file) const {
  if (file < nodes_.size()) {
    return {&tree_, NameTree::kRoot, nodes_[static_cast<size_t>(file)]};
  }
  const Numbered& in = *std::prev(
      std::ranges::upper_bound(numbered_, file, {}, &Numbered::start));
  return {in.files, in.directory, static_cast<NodeId>(file - in.start) + 1};
}

uint64_t DataFiles::ExpectedBytes(const ReadContext& context) const {
  uint64_t bytes = 0;
  for (const NodeId node : nodes_) {
    if (tree_.SizeCost(node) > Cost::kSmallRead) continue;
    const Result<uint64_t> size = tree_.Size(node, context);
    if (size) bytes += *size;
  }
  for (const Numbered& in : numbered_) {
    bytes += in.files->table().placement().numbering->bytes.value_or(0);
  }
  return bytes;
}

}  // namespace ctxfs
