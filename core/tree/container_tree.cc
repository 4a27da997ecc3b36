// SPDX-License-Identifier: Apache-2.0
#include "core/tree/container_tree.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/container/documents.h"
#include "core/container/format.h"
#include "core/container/unreadable.h"
#include "core/tree/faults_json.h"
#include "core/tree/index_json.h"
#include "core/tree/nested_container.h"
#include "core/tree/safe_name.h"

namespace ctxfs {
namespace {

// Files that are added between two checks whether to give up.
constexpr uint32_t kFilesPerCheck = 16'384;

using Components = std::span<const std::string_view>;

Components AllButLast(Components components) {
  return components.first(components.size() - 1);
}

/// Calls `act` with the number and the path of each file of a table, until it
/// returns false. Fails only if interrupted.
template <typename Act>
Status ForEachPath(const FileTable& table, const Interrupt& interrupt,
                   const Act& act) {
  std::string scratch;
  for (uint32_t i = 0; i < table.count(); ++i) {
    if (i % kFilesPerCheck == 0) {
      if (Status wanted = interrupt.Check(); !wanted) return wanted;
    }
    const std::optional<std::string_view> path = table.Path(i, scratch);
    if (path && !act(i, *path)) break;
  }
  return {};
}

/// The directory that `components` lead to from `directory`.
NodeId MakeDirectories(TreeBuilder& builder, NodeId directory,
                       Components components) {
  for (const std::string_view component : components) {
    directory = builder.MakeDirectory(directory, component);
  }
  return directory;
}

/// The directory that all entries are in.
NodeId MakeEntryDirectory(TreeBuilder& builder, const FileTable& entries) {
  const std::string& directory = entries.placement().directory;
  if (directory.empty()) return NameTree::kRoot;
  SafePath path;
  return MakeDirectories(builder, NameTree::kRoot, path.Split(directory));
}

}  // namespace

/// Finds places for files that are not entries. If an entry has the name of a
/// top-level directory or file of ours, ours becomes NAME~2, with everything
/// below it.
class ContainerTree::Places {
 public:
  /// `shared`: directories that entries made are ours as well.
  Places(TreeBuilder& builder, bool shared)
      : builder_(builder), shared_(shared) {}

  /// The directory of a role.
  NodeId Top(Role role) {
    switch (role) {
      case Role::kViews:
        return Own(kViews, /*shared=*/false);
      case Role::kMetadata:
        return Own(kMetadata, /*shared=*/false);
      case Role::kRaw:
      case Role::kRawEntries:
        return builder_.MakeDirectory(Top(Role::kMetadata), "raw");
      case Role::kEntries:
      case Role::kPrimary:
        break;
    }
    return NameTree::kRoot;
  }

  /// The directory of kViews or kMetadata, if it was made.
  std::optional<NodeId> Made(Role role) const {
    const auto found = tops_.find(role == Role::kViews ? kViews : kMetadata);
    if (found == tops_.end()) return std::nullopt;
    return found->second;
  }

  /// The directory of a role, or `path` below it.
  NodeId Directory(Role role, std::string_view path) {
    if (path.empty()) return Top(role);
    SafePath safe;
    return Directory(role, safe.Split(path));
  }
  NodeId Directory(Role role, Components path) { return Walk(Top(role), path); }

  /// The directory that `path` leads to from `directory`, and the name there,
  /// which is valid until the next call. At the root the name is free; below,
  /// all names are ours.
  std::pair<NodeId, std::string_view> Find(NodeId directory,
                                           std::string_view path) {
    const Components components = path_.Split(path);
    directory = Walk(directory, AllButLast(components));
    if (directory != NameTree::kRoot) return {directory, components.back()};
    free_name_ = builder_.FreeName(directory, components.back());
    return {directory, free_name_};
  }

  /// A new directory for a container or for numbered files.
  NodeId MakeNew(Role role, std::string_view path) {
    if (path.empty()) return Top(role);
    const auto [directory, name] = Find(Top(role), path);
    return builder_.MakeDirectory(directory,
                                  builder_.FreeName(directory, name));
  }

  /// Adds the files of a table, whose numbers begin with `first`. Fails only if
  /// interrupted; the builder knows of limits.
  Status AddFiles(const FileTable& table, FileId first,
                  const Interrupt& interrupt) {
    // A directory without files is not made.
    std::optional<NodeId> directory;
    const auto add = [&](uint32_t file, std::string_view path) {
      if (!directory) {
        directory =
            Directory(table.placement().role, table.placement().directory);
      }
      const auto [parent, name] = Find(*directory, path);
      builder_.AddFile(parent, name, first + file);
      return builder_.ok();
    };
    return ForEachPath(table, interrupt, add);
  }

 private:
  static constexpr std::string_view kViews = "views";
  static constexpr std::string_view kMetadata = ".ctxfs";

  NodeId Walk(NodeId directory, Components components) {
    for (const std::string_view component : components) {
      directory = directory == NameTree::kRoot
                      ? Own(component, shared_)
                      : builder_.MakeDirectory(directory, component);
    }
    return directory;
  }

  NodeId Own(std::string_view name, bool shared) {
    const auto found = tops_.find(name);
    if (found != tops_.end()) return found->second;
    const NodeId made = builder_.MakeDirectory(
        NameTree::kRoot,
        shared ? std::string(name) : builder_.FreeName(NameTree::kRoot, name));
    tops_.emplace(name, made);
    return made;
  }

  TreeBuilder& builder_;
  bool shared_;
  SafePath path_;
  std::string free_name_;
  std::map<std::string, NodeId, std::less<>> tops_;
};

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
  views_.reset();
  metadata_.reset();
  (void)Build(extra, {}, {}, NeverInterrupted());
}

Status ContainerTree::Build(const Tables& extra,
                            std::vector<ChildContainer> attached,
                            const TreeLimits& most,
                            const Interrupt& interrupt) {
  tables_ = {EmptyTable()};
  if (!container_->is_part()) {
    for (auto& table : MetadataTables()) tables_.push_back(std::move(table));
  }
  for (auto& table : container_->Files()) {
    if (HoldsEntries(table->placement().role)) {
      tables_.front() = std::move(table);
    } else {
      tables_.push_back(std::move(table));
    }
  }
  for (auto& table : container_->FilesWithPaths(*this)) {
    tables_.push_back(std::move(table));
  }
  tables_.insert(tables_.end(), extra.begin(), extra.end());
  if (Status numbered = NumberFiles(); !numbered) return numbered;
  children_ = container_->Children();
  for (ChildContainer& one : attached) children_.push_back(std::move(one));

  TreeBuilder builder(static_cast<uint32_t>(std::min<uint64_t>(
                          starts_.back(), 2ULL * entries()->count())),
                      most);
  if (Status added = AddEntries(builder, interrupt); !added) return added;
  AddMembers(builder);
  builder.Settle();  // before other files, so that entries keep their names
  if (Status added = AddOthers(builder, interrupt); !added) return added;
  Result<NameTree> tree = std::move(builder).Build();
  if (!tree) return std::move(tree).error();
  tree_ = std::move(*tree);
  CountPrimary();
  return {};
}

ContainerTree::Tables ContainerTree::MetadataTables() const {
  const std::shared_ptr<const Source>& source = container_->source();
  return {FreshDocument(
              Role::kMetadata, "info.json",
              [container = container_](
                  const ReadContext& context) -> Result<std::string> {
                const Json info = container->Info(context);
                if (Status wanted = context.Check(); !wanted) {
                  return std::move(wanted).error();
                }
                return FormatJson(info);
              },
              /*live=*/container_->InfoMayChange()),
          IndexJson(*this), FaultsJson(*this),
          FixedFile(Role::kMetadata, "container",
                    Content(Range{source, 0, nullptr}, source->size()))};
}

Status ContainerTree::NumberFiles() {
  starts_.clear();
  uint64_t next = 0;
  for (const auto& table : tables_) {
    starts_.push_back(static_cast<FileId>(next));
    if (!table->placement().numbering) next += table->count();
    if (next > UINT32_MAX) {
      return Error{Code::kLimit, "more than 2^32 files"};
    }
  }
  starts_.push_back(static_cast<FileId>(next));
  return {};
}

void ContainerTree::CountPrimary() {
  const auto add = [](uint64_t sum, std::optional<uint64_t> size) {
    return CheckedAdd(sum, size.value_or(0)).value_or(UINT64_MAX);
  };
  primary_files_ = 0;
  total_size_ = 0;
  for (NodeId node = 0; node < tree_.node_count(); ++node) {
    if (tree_.IsDirectory(node)) continue;
    const File file = At(node);
    if (!IsPrimary(file.table->placement().role)) continue;
    ++primary_files_;
    total_size_ = add(total_size_, file.table->KnownSize(file.number));
  }
  if (entries()->placement().role != Role::kRawEntries) return;
  uint64_t raw = 0;
  for (uint32_t entry = 0; entry < entries()->count(); ++entry) {
    raw = add(raw, entries()->KnownSize(entry));
  }
  total_size_ = std::max(total_size_, raw);
}

Status ContainerTree::AddEntries(TreeBuilder& builder,
                                 const Interrupt& interrupt) {
  if (entries()->placement().role != Role::kEntries) return {};
  const NodeId top = MakeEntryDirectory(builder, *entries());
  SafePath path;
  const auto add = [&](uint32_t entry, std::string_view name) {
    const Components components = path.Split(name);
    if (entries()->IsDirectory(entry)) {
      explicit_.insert(MakeDirectories(builder, top, components));
    } else {
      builder.AddFile(MakeDirectories(builder, top, AllButLast(components)),
                      components.back(), entry,
                      entries()->placement().last_keeps_name);
    }
    return builder.ok();
  };
  return ForEachPath(*entries(), interrupt, add);
}

void ContainerTree::AddMembers(TreeBuilder& builder) {
  SafePath path;
  for (uint32_t i = 0; i < children_.size(); ++i) {
    if (children_[i].role != Role::kEntries) continue;
    const Components components = path.Split(children_[i].path);
    const NodeId above =
        MakeDirectories(builder, NameTree::kRoot, AllButLast(components));
    NodeId member = builder.MakeDirectory(above, components.back());
    if (child_at_.contains(member)) {
      member = builder.MakeDirectory(
          above, builder.FreeName(above, components.back()));
    }
    child_at_.emplace(member, i);
  }
}

Status ContainerTree::AddOthers(TreeBuilder& builder,
                                const Interrupt& interrupt) {
  Places places(builder, entries()->placement().shared);
  // Directories first, so that no file has to be moved aside for one. Members
  // have theirs already.
  for (uint32_t i = 0; i < children_.size(); ++i) {
    if (children_[i].role == Role::kEntries) continue;
    child_at_.emplace(places.MakeNew(children_[i].role, children_[i].path), i);
  }
  for (const auto& table : tables_) {
    const Placement& placement = table->placement();
    if (!placement.numbering) continue;
    numbered_at_.try_emplace(
        places.MakeNew(placement.role, placement.directory), *table);
  }
  if (Status added = AddNested(builder, places, interrupt); !added) {
    return added;
  }
  for (size_t i = 0; i < tables_.size(); ++i) {
    const Placement& placement = tables_[i]->placement();
    if (placement.numbering || placement.role == Role::kEntries) continue;
    Status added = places.AddFiles(*tables_[i], starts_[i], interrupt);
    if (!added) return added;
  }
  views_ = places.Made(Role::kViews);
  metadata_ = places.Made(Role::kMetadata);
  return {};
}

// views/NAME~dir of an entry that is a container itself.
Status ContainerTree::AddNested(TreeBuilder& builder, Places& places,
                                const Interrupt& interrupt) {
  constexpr std::string_view kMark = "~dir";
  if (!entries()->placement().may_nest) return {};
  SafePath path;
  const auto add = [&](uint32_t entry, std::string_view name) {
    if (!HasContainerExtension(name) || entries()->IsDirectory(entry) ||
        entries()->access(entry) == Access::kLocked) {
      return true;
    }
    const Components components = path.Split(name);
    const NodeId above = places.Directory(Role::kViews, AllButLast(components));
    const std::string marked =
        MarkedComponent(components.back(), kMark, /*before_extension=*/false);
    const NodeId directory =
        builder.MakeDirectory(above, builder.FreeName(above, marked));
    child_at_.emplace(directory, static_cast<uint32_t>(children_.size()));
    nested_.emplace(directory, entry);
    const auto open = [source = container_->source(), table = entries(),
                       entry](const ReadContext& context) {
      return OpenContainerEntry(source, *table, entry, context);
    };
    children_.push_back({marked, open, Role::kViews});
    return nested_.size() < limits::kInnerContainers;
  };
  return ForEachPath(*entries(), interrupt, add);
}

FileTree::File ContainerTree::At(NodeId node) const {
  const FileId file = tree_.File(node);
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), file);
  const auto table = static_cast<size_t>(after - starts_.begin()) - 1;
  return {tables_[table].get(), file - starts_[table]};
}

const ChildContainer* ContainerTree::Hanging(NodeId directory) const {
  const auto found = child_at_.find(directory);
  return found == child_at_.end() ? nullptr : &children_[found->second];
}

const FileTree* ContainerTree::Numbered(NodeId directory) const {
  const auto found = numbered_at_.find(directory);
  return found == numbered_at_.end() ? nullptr : &found->second;
}

std::optional<Role> ContainerTree::Aside(NodeId directory) const {
  if (directory == views_) return Role::kViews;
  if (directory == metadata_) return Role::kMetadata;
  return std::nullopt;
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
  std::vector<std::string> paths;
  paths.reserve(end - first);
  for (const NodeId node : NodesOf(first, end)) {
    paths.push_back(tree_.Path(node));
  }
  return paths;
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
  // Looks at this many at most: the headers of a million entries that are no
  // tensors are not all read.
  constexpr unsigned kMostAsked = 256;
  if (nested_.contains(directory)) {
    if (asked++ == kMostAsked) return true;
    const Result<bool> is = IsNested(directory, Cost::kSmallRead, context);
    return !is || *is;
  }
  if (Hanging(directory) != nullptr || Numbered(directory) != nullptr) {
    return true;
  }
  for (uint32_t i = 0; i < tree_.ChildCount(directory); ++i) {
    const NodeId child = tree_.Child(directory, i);
    if (tree_.IsDirectory(child)) {
      if (explicit_.contains(child)) return true;
      if (HoldsAnything(child, asked, context)) return true;
      continue;
    }
    const File file = At(child);
    if (file.table->exists_cost() != Cost::kSmallRead) return true;
    if (asked++ == kMostAsked) return true;
    const Result<bool> exists =
        file.table->Exists(file.number, Cost::kSmallRead, context);
    if (!exists || *exists) return true;
  }
  return false;
}

}  // namespace ctxfs
