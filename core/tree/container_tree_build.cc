// SPDX-License-Identifier: Apache-2.0
//
// Builds a ContainerTree from the files of a container.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/archive/plain_name.h"
#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/container/format.h"
#include "core/tree/container_tree.h"
#include "core/tree/entry_places.h"
#include "core/tree/faults_json.h"
#include "core/tree/index_json.h"
#include "core/tree/nested_container.h"
#include "core/tree/safe_name.h"

namespace ctxfs {

/// Finds places for files that are not entries. If an entry has the name of
/// such a file or directory in the root, the file or directory becomes NAME~2,
/// with everything below it. With Placement::shared, directories in the root
/// keep their names, except `views` and `.ctxfs`: entries and other files are
/// then in one directory.
class ContainerTree::Places {
 public:
  /// `entries`: the placement of the entries.
  Places(TreeBuilder& builder, const Placement& entries)
      : builder_(builder),
        shared_(entries.shared),
        plain_paths_(entries.plain_paths) {}

  /// The directory of a role, created if needed.
  NodeId Top(Role role) {
    switch (role) {
      case Role::kViews:
        return OwnDirectory(kViews, /*shared=*/false);
      case Role::kMetadata:
        return OwnDirectory(kMetadata, /*shared=*/false);
      case Role::kRaw:
      case Role::kRawEntries:
        return builder_.MakeDirectory(Top(Role::kMetadata), "raw");
      case Role::kEntries:
      case Role::kPrimary:
        break;
    }
    return NameTree::kRoot;
  }

  /// Returns the directory of kViews or kMetadata; nullopt if it was not
  /// created.
  std::optional<NodeId> Made(Role role) const {
    const auto found = tops_.find(role == Role::kViews ? kViews : kMetadata);
    if (found == tops_.end()) return std::nullopt;
    return found->second;
  }

  /// The directory of a role, or `path` below it, created if needed.
  NodeId Directory(Role role, std::string_view path) {
    if (path.empty()) return Top(role);
    SafePath safe;
    return Directory(role, safe.Split(path));
  }
  NodeId Directory(Role role, Components path) { return Walk(Top(role), path); }

  /// Returns the directory that `path` leads to from `directory`, and the name
  /// there, which is valid until the next call. In the root, this finds a name
  /// that no entry has.
  std::pair<NodeId, std::string_view> Find(NodeId directory,
                                           std::string_view path) {
    if (plain_paths_ && HasPlainPath(path)) {
      const auto found = Find(directory, path_.SplitPlain(path));
      if (!builder_.TypeAt(found.first, found.second)) return found;
    }
    return Find(directory, path_.Split(path));
  }
  std::pair<NodeId, std::string_view> Find(NodeId directory,
                                           Components components) {
    directory = Walk(directory, AllButLast(components));
    if (directory != NameTree::kRoot) return {directory, components.back()};
    free_name_ = builder_.FreeName(directory, components.back());
    return {directory, free_name_};
  }

  /// A new directory for a container or for numbered files; with an empty
  /// `path`, the directory of the role.
  NodeId MakeNew(Role role, std::string_view path) {
    if (path.empty()) return Top(role);
    const auto [directory, name] = Find(Top(role), path);
    return builder_.MakeDirectory(directory,
                                  builder_.FreeName(directory, name));
  }

  /// Adds the files of a table, numbered from `first`. Fails only if
  /// interrupted: the builder records an exceeded limit.
  Status AddFiles(const FileTable& table, FileId first,
                  const Interrupt& interrupt) {
    // A directory without files is not created.
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
                      ? OwnDirectory(component, shared_)
                      : builder_.MakeDirectory(directory, component);
    }
    return directory;
  }

  NodeId OwnDirectory(std::string_view name, bool shared) {
    const auto found = tops_.find(name);
    if (found != tops_.end()) return found->second;
    const NodeId made = builder_.MakeDirectory(
        NameTree::kRoot,
        shared ? std::string(name) : builder_.FreeName(NameTree::kRoot, name));
    tops_.emplace(name, made);
    return made;
  }

  TreeBuilder& builder_;
  const bool shared_;  // directories of entries contain other files as well
  const bool plain_paths_;
  SafePath path_;
  std::string free_name_;
  std::map<std::string, NodeId, std::less<>> tops_;
};

Status ContainerTree::Build(const Tables& extra,
                            std::vector<ChildContainer> attached,
                            const TreeLimits& most,
                            const Interrupt& interrupt) {
  tables_ = {EmptyTable()};
  if (!container_->is_part()) {
    for (auto& table : MetadataTables()) tables_.push_back(std::move(table));
  }
  for (auto& table : container_->Files()) {
    // Numbered entries have no nodes, so they are not the tree's entries.
    const Placement& placement = table->placement();
    if (HoldsEntries(placement.role) && !placement.numbering) {
      tables_.front() = std::move(table);
    } else {
      tables_.push_back(std::move(table));
    }
  }
  for (auto& table : container_->FilesWithPaths(*this)) {
    tables_.push_back(std::move(table));
  }
  tables_.insert(tables_.end(), extra.begin(), extra.end());
  CTXFS_TRY(NumberFiles());
  children_ = container_->Children();
  for (ChildContainer& one : attached) children_.push_back(std::move(one));

  TreeBuilder builder(static_cast<uint32_t>(std::min<uint64_t>(
                          starts_.back(), 2ULL * entries()->count())),
                      most);
  EntryPlaces places(*entries(), builder);
  if (entries()->placement().role == Role::kEntries) {
    CTXFS_TRY(places.Add(interrupt));
  }
  AddMembers(builder);
  // Resolves conflicts before other files are added, so that entries keep their
  // names.
  builder.ResolveConflicts();
  CTXFS_TRY(AddOthers(builder, places, interrupt));
  tree_ = CTXFS_TRY(std::move(builder).Build());
  explicit_ = std::move(places.directories());
  CTXFS_TRY(FindHardLinks(places.hard_links()));
  return CountPrimary();
}

ContainerTree::Tables ContainerTree::MetadataTables() const {
  const std::shared_ptr<const Source>& source = container_->source();
  return {FreshDocument(
              Role::kMetadata, "info.json",
              [container = container_](
                  const ReadContext& context) -> Result<std::string> {
                const Json info = container->Info(context);
                CTXFS_TRY(context.Check());
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

Status ContainerTree::FindHardLinks(
    const std::vector<EntryPlaces::HardLinkEntry>& links) {
  if (links.empty()) return {};
  // Admits the memory of `nodes` and of the lists of hard links.
  CTXFS_TRY(HeapAllowance::Admit(entries()->count() * sizeof(NodeId) +
                                 4 * links.size() * sizeof(HardLink)));
  const std::vector<NodeId> nodes = NodesOf(0, entries()->count());
  hard_links_.reserve(2 * links.size());
  for (const EntryPlaces::HardLinkEntry& link : links) {
    hard_links_.push_back({nodes[link.entry], nodes[link.original], 0});
  }
  std::erase_if(hard_links_, [](const HardLink& link) {
    return link.node == link.first || link.node == kRoot || link.first == kRoot;
  });
  const auto by_first = [](const HardLink& a, const HardLink& b) {
    return a.first < b.first;
  };
  std::sort(hard_links_.begin(), hard_links_.end(), by_first);
  std::vector<HardLink> firsts;
  for (auto at = hard_links_.begin(); at != hard_links_.end();) {
    const auto end = std::upper_bound(at, hard_links_.end(), *at, by_first);
    const auto names = static_cast<uint32_t>(end - at) + 1;
    firsts.push_back({at->first, at->first, names});
    for (; at != end; ++at) at->names = names;
  }
  hard_links_.insert(hard_links_.end(), firsts.begin(), firsts.end());
  std::sort(
      hard_links_.begin(), hard_links_.end(),
      [](const HardLink& a, const HardLink& b) { return a.node < b.node; });
  hard_links_.shrink_to_fit();
  return {};
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

Status ContainerTree::AddOthers(TreeBuilder& builder, EntryPlaces& of_entries,
                                const Interrupt& interrupt) {
  Places places(builder, entries()->placement());
  // Creates directories first, so that no file has to be renamed for a
  // directory. Directories for members of an archive exist already
  // (AddMembers).
  for (uint32_t i = 0; i < children_.size(); ++i) {
    if (children_[i].role == Role::kEntries) continue;
    child_at_.emplace(places.MakeNew(children_[i].role, children_[i].path), i);
  }
  for (const auto& table : tables_) {
    const Placement& placement = table->placement();
    if (!placement.numbering) continue;
    CTXFS_TRY(HeapAllowance::Check());
    numbered_at_.try_emplace(
        places.MakeNew(placement.role, placement.directory), *table);
  }
  CTXFS_TRY(AddNested(builder, places, of_entries, interrupt));
  for (size_t i = 0; i < tables_.size(); ++i) {
    const Placement& placement = tables_[i]->placement();
    if (placement.numbering || placement.role == Role::kEntries) continue;
    CTXFS_TRY(places.AddFiles(*tables_[i], starts_[i], interrupt));
    may_lack_ = may_lack_ || (placement.exists_cost != Cost::kNone &&
                              placement.role != Role::kViews);
  }
  views_ = places.Made(Role::kViews);
  metadata_ = places.Made(Role::kMetadata);
  return {};
}

// Adds views/NAME~dir for each file among the entries that may be a container
// by its name, for at most limits::kInnerContainers.
Status ContainerTree::AddNested(TreeBuilder& builder, Places& places,
                                EntryPlaces& of_entries,
                                const Interrupt& interrupt) {
  constexpr std::string_view kMark = "~dir";
  if (!entries()->placement().may_nest) return {};
  const auto add = [&](uint32_t entry, std::string_view name) {
    if (!HasContainerExtension(name)) return true;
    const FileFacts facts = entries()->Facts(entry);
    if (facts.kind != FileKind::kFile || facts.original ||
        (facts.fault && facts.fault->code == Code::kLocked)) {
      return true;
    }
    const Components components = of_entries.PathOf(entry, name);
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

}  // namespace ctxfs
