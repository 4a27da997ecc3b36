// SPDX-License-Identifier: Apache-2.0
#include "core/tree/container_tree.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/heap/heap_allowance.h"
#include "core/base/heap/heap_meter.h"
#include "core/container/unreadable.h"
#include "core/tree/nested_container.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

uint64_t AddSizes(uint64_t a, uint64_t b) {
  return CheckedAdd(a, b).value_or(UINT64_MAX);
}

}  // namespace

ContainerTree::ContainerTree(std::shared_ptr<const Container> container,
                             Tables extra, std::vector<ChildContainer> attached,
                             const TreeLimits& most, const Interrupt& interrupt)
    : container_(std::move(container)),
      status_(Build(extra, std::move(attached), most, interrupt)) {
  if (status_ || !status_.error().Permanent()) return;
  container_ = UnreadableContainer(container_->source(), status_.error());
  child_at_.clear();
  explicit_.clear();
  nested_.clear();
  numbered_at_.clear();
  hard_links_.clear();
  may_lack_ = false;
  views_.reset();
  metadata_.reset();
  // If memory was refused, the caller discards this tree. Until then the tree
  // must be valid, so this Build is not metered.
  std::optional<UnmeteredHeap> refused;
  if (!HeapAllowance::Check()) refused.emplace();
  (void)Build(extra, {}, {}, NeverInterrupted());
}

const ContainerTree::HardLink* ContainerTree::HardLinkAt(NodeId node) const {
  const auto found = std::lower_bound(
      hard_links_.begin(), hard_links_.end(), node,
      [](const HardLink& one, NodeId wanted) { return one.node < wanted; });
  return found == hard_links_.end() || found->node != node ? nullptr : &*found;
}

NodeId ContainerTree::FirstName(NodeId node) const {
  const HardLink* link = HardLinkAt(node);
  return link == nullptr ? node : link->first;
}

uint32_t ContainerTree::NameCount(NodeId node) const {
  const HardLink* link = HardLinkAt(node);
  return link == nullptr ? 1 : link->names;
}

std::string ContainerTree::LinkTarget(NodeId link) const {
  const File file = At(link);
  return SafeTarget(file.table->Facts(file.number).target);
}

Status ContainerTree::CountPrimary() {
  primary_files_ = 0;
  known_size_ = 0;
  knows_total_size_ = true;
  std::vector<NodeId> unknown;
  for (NodeId node = 0; node < tree_.node_count(); ++node) {
    if (tree_.IsDirectory(node) || FirstName(node) != node) continue;
    const File file = At(node);
    const Role role = file.table->placement().role;
    if (role == Role::kViews) continue;
    const std::optional<uint64_t> size = file.table->KnownSize(file.number);
    if (!size && !file.table->live()) {
      CTXFS_TRY(AdmitGrowth(unknown));
      unknown.push_back(node);
    }
    if (!IsPrimary(role)) continue;
    ++primary_files_;
    knows_total_size_ = knows_total_size_ && (size || file.table->live());
    known_size_ = AddSizes(known_size_, size.value_or(0));
  }
  CountNumbered();
  CTXFS_TRY(HeapAllowance::Admit(unknown.size() *
                                 (sizeof(NodeId) + sizeof(uint64_t))));
  sizes_ = KeptSizes(std::move(unknown));
  return {};
}

void ContainerTree::CountNumbered() {
  for (const auto& [node, files] : numbered_at_) {
    const Placement& placement = files.table().placement();
    if (!IsPrimary(placement.role)) continue;
    primary_files_ += files.ChildCount(kRoot);
    const std::optional<uint64_t> bytes = placement.numbering->bytes;
    knows_total_size_ = knows_total_size_ && bytes;
    known_size_ = AddSizes(known_size_, bytes.value_or(0));
  }
}

uint64_t ContainerTree::TotalSize() const {
  uint64_t total = known_size_;
  for (const NodeId file : sizes_.files()) {
    if (!IsPrimary(At(file).table->placement().role)) continue;
    total = AddSizes(total, sizes_.Known(file).value_or(0));
  }
  return total;
}

std::vector<NodeId> ContainerTree::UnmeasuredFiles() const {
  std::vector<NodeId> files;
  for (const NodeId file : sizes_.files()) {
    if (sizes_.Known(file)) continue;
    if (IsPrimary(At(file).table->placement().role)) files.push_back(file);
  }
  return files;
}

Result<uint64_t> ContainerTree::Size(NodeId file,
                                     const ReadContext& context) const {
  if (!sizes_.Has(file)) return FileTree::Size(file, context);
  const auto measure = [this,
                        file](const ReadContext& shared) -> Result<uint64_t> {
    Result<uint64_t> size = FileTree::Size(file, shared);
    // The container may have changed during the measurement.
    CTXFS_TRY(container_->source()->CheckUnchanged());
    return size;
  };
  return sizes_.Get(file, measure, context);
}

Cost ContainerTree::SizeCost(NodeId file) const {
  return sizes_.Known(file) ? Cost::kNone : FileTree::SizeCost(file);
}

FileTree::File ContainerTree::At(NodeId node) const {
  const FileId file = tree_.File(node);
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), file);
  const auto table = static_cast<size_t>(after - starts_.begin()) - 1;
  return {tables_[table].get(), file - starts_[table]};
}

std::optional<ChildContainer> ContainerTree::NestedAt(NodeId directory) const {
  const auto found = child_at_.find(directory);
  if (found == child_at_.end()) return std::nullopt;
  return children_[found->second];
}

const NumberedDirectory* ContainerTree::Numbered(NodeId directory) const {
  const auto found = numbered_at_.find(directory);
  return found == numbered_at_.end() ? nullptr : &found->second;
}

std::vector<NodeId> ContainerTree::NumberedDirectories() const {
  std::vector<NodeId> directories;
  for (const auto& [node, files] : numbered_at_) directories.push_back(node);
  std::sort(directories.begin(), directories.end());
  return directories;
}

std::optional<NodeId> ContainerTree::Aside(Role role) const {
  if (role == Role::kViews) return views_;
  if (role == Role::kMetadata) return metadata_;
  return std::nullopt;
}

bool ContainerTree::IsInViews(NodeId directory) const {
  NodeId at = directory;
  while (at != kRoot && at != views_) at = tree_.Parent(at);
  return at != kRoot;
}

std::optional<uint32_t> ContainerTree::DirectoryCount(NodeId directory) const {
  // Counting the directories of a nested container would require opening it.
  // Finding out whether a directory exists may require reading.
  if (may_lack_ || ShowsContainer(directory) || IsInViews(directory)) {
    return std::nullopt;
  }
  return tree_.DirectoryCount(directory);
}

StoredAttributes ContainerTree::StoredAttributesOfDirectory(
    NodeId directory) const {
  const auto found = explicit_.find(directory);
  return found == explicit_.end()
             ? StoredAttributes()
             : entries()->StoredAttributesOf(found->second);
}

std::optional<NodeId> ContainerTree::SharedViewsAbove(NodeId directory) const {
  if (!views_ || !child_at_.contains(*views_)) return std::nullopt;
  for (NodeId at = directory; at != kRoot; at = tree_.Parent(at)) {
    if (tree_.Parent(at) == *views_) return views_;
  }
  return std::nullopt;
}

std::optional<uint32_t> ContainerTree::Entry(NodeId node) const {
  if (tree_.IsDirectory(node)) return std::nullopt;
  const FileId file = tree_.File(node);
  if (file >= entries()->count()) return std::nullopt;
  return file;
}

bool ContainerTree::IsData(NodeId node) const {
  return IsStored(At(node).table->placement().role);
}

std::vector<NodeId> ContainerTree::NodesOf(uint32_t first, uint32_t end) const {
  std::vector<NodeId> nodes(end - first, kRoot);
  for (NodeId node = 0; node < tree_.node_count(); ++node) {
    if (tree_.IsDirectory(node)) continue;
    const FileId file = tree_.File(node);
    if (file >= first && file < end) nodes[file - first] = node;
  }
  return nodes;
}

std::vector<std::string> ContainerTree::Of(uint32_t first, uint32_t end) const {
  const uint32_t count = entries()->count();
  std::vector<std::string> paths(end - first);
  const uint32_t entries_end = std::min(end, count);
  if (first < entries_end) {
    const std::vector<NodeId> nodes = NodesOf(first, entries_end);
    std::transform(nodes.begin(), nodes.end(), paths.begin(),
                   [this](NodeId node) { return tree_.Path(node); });
  }
  for (const auto& [node, child] : child_at_) {
    const uint64_t number = uint64_t{count} + child;
    if (number >= first && number < end) {
      paths[static_cast<size_t>(number - first)] = tree_.Path(node);
    }
  }
  return paths;
}

std::vector<std::string> ContainerTree::InPart(
    const std::shared_ptr<const Container>& part) const {
  const ContainerTree tree(part);
  return tree.Of(0, tree.entries()->count());
}

std::string ContainerTree::OfNumbered(std::string_view directory) const {
  for (const auto& [node, files] : numbered_at_) {
    const Placement& placement = files.table().placement();
    if (IsPrimary(placement.role) && placement.directory == directory) {
      return tree_.Path(node);
    }
  }
  return {};
}

uint64_t ContainerTree::NodeCount() const {
  uint64_t count = tree_.node_count();
  for (const auto& [node, files] : numbered_at_) {
    count += files.ChildCount(kRoot);
  }
  return count;
}

Result<bool> ContainerTree::IsNested(NodeId directory, Cost most,
                                     const ReadContext& context) const {
  return IsContainerEntry(*container_->source(), *entries(),
                          nested_.at(directory), most, context);
}

Result<bool> ContainerTree::DirectoryExists(NodeId directory, Cost most,
                                            const ReadContext& context) const {
  if (nested_.contains(directory)) return IsNested(directory, most, context);
  unsigned asked = 0;
  return directory == kRoot || explicit_.contains(directory) ||
         HoldsAnything(directory, asked, context);
}

bool ContainerTree::HoldsAnything(NodeId directory, unsigned& asked,
                                  const ReadContext& context) const {
  // Bounds the reads. Otherwise a directory of a million entries that are no
  // tensors would cost the reading of all their headers.
  constexpr unsigned kMaxAsked = 256;
  if (nested_.contains(directory)) {
    if (asked++ == kMaxAsked) return true;
    const Result<bool> is = IsNested(directory, Cost::kSmallRead, context);
    return !is || *is;
  }
  if (ShowsContainer(directory) || Numbered(directory) != nullptr) return true;
  for (uint32_t i = 0; i < tree_.ChildCount(directory); ++i) {
    const NodeId child = tree_.Child(directory, i);
    if (tree_.IsDirectory(child)) {
      if (explicit_.contains(child)) return true;
      if (HoldsAnything(child, asked, context)) return true;
      continue;
    }
    const File file = At(child);
    if (file.table->placement().exists_cost != Cost::kSmallRead) return true;
    if (asked++ == kMaxAsked) return true;
    const Result<bool> exists =
        file.table->Exists(file.number, Cost::kSmallRead, context);
    if (!exists || *exists) return true;
  }
  return false;
}

}  // namespace ctxfs
