// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/file_tree_source.h"

#include <fmt/core.h>

#include <utility>

#include "core/container/archive/link_plan.h"

namespace ctxfs {

/// The children of a node, in the order of the tree.
class FileTreeSource::TreeListing final : public Listing {
 public:
  TreeListing(const FileTreeSource& source, NodeId directory)
      : source_(source), directory_(directory) {}

  uint64_t count() const override {
    return source_.files->ChildCount(directory_);
  }

  std::optional<Name> At(uint64_t index, bool attributes,
                         const ReadContext& context) const override {
    const FileTree& files = *source_.files;
    FileTree::Child child =
        files.ChildAt(directory_, static_cast<uint32_t>(index));
    const NodeId node = child.node;
    if (!source_.IsListed(node) || !source_.Exists(node, context)) {
      return std::nullopt;
    }
    Name name{source_.InodeOf(node), std::move(child.name), child.directory()};
    name.link = child.type == NodeType::kLink;
    name.has_others = files.NameCount(node) > 1;
    // Adds attributes if the size costs at most a small read.
    if (attributes &&
        (name.directory || files.SizeCost(node) <= Cost::kSmallRead)) {
      const Result<Attributes> found = source_.ExamineWithin(node, context);
      if (found) name.attributes = *found;
    }
    return name;
  }

  bool Has(std::string_view name, const ReadContext& context) const override {
    const auto node = source_.files->Lookup(directory_, name);
    return node && source_.Exists(*node, context);
  }

 private:
  const FileTreeSource& source_;
  const NodeId directory_;
};

Maybe<FoundNode> FileTreeSource::Lookup(Node directory, std::string_view name,
                                        const ReadContext& context) const {
  const std::optional<NodeId> node =
      files->Lookup(static_cast<NodeId>(directory), name);
  if (!node) return std::optional<FoundNode>();
  Work work = AllowedWork();
  const ReadContext bounded = context.With(work);
  const bool exists = CTXFS_TRY(files->Exists(*node, Cost::kDecode, bounded));
  if (!exists) return std::optional<FoundNode>();
  const Attributes attributes = CTXFS_TRY(ExamineWithin(*node, bounded));
  return std::optional(FoundNode{InodeOf(*node), attributes});
}

Result<OpenFile> FileTreeSource::Open(Node file,
                                      const ReadContext& context) const {
  const auto node = static_cast<NodeId>(file);
  Work work = AllowedWork();
  Result<Content> content = files->Open(node, context.With(work));
  CTXFS_TRY(CheckUnchanged());
  if (!content) return std::move(content).error();
  OpenFile opened{std::move(*content)};
  if (files->At(node).table->live()) {
    opened.lifetime = Lifetime::kNone;
    opened.same_pages = false;
  }
  return opened;
}

std::unique_ptr<Listing> FileTreeSource::List(Node directory) const {
  return std::make_unique<TreeListing>(*this, static_cast<NodeId>(directory));
}

bool FileTreeSource::Exists(NodeId node, const ReadContext& context) const {
  const Result<bool> exists = files->Exists(node, Cost::kSmallRead, context);
  return !exists || *exists;
}

uint32_t FileTreeSource::LinkCount(NodeId directory,
                                   const ReadContext& context) const {
  const std::optional<uint32_t> count = files->DirectoryCount(directory);
  if (!count) return 1;
  uint32_t links = 2 + *count;
  if (directory != FileTree::kRoot) return links;
  for (const Role role : {Role::kViews, Role::kMetadata}) {
    const std::optional<NodeId> aside = files->Aside(role);
    if (!aside) continue;
    if (!IsListed(*aside) || !Exists(*aside, context)) --links;
  }
  return links;
}

Result<Attributes> FileTreeSource::Examine(Node node,
                                           const ReadContext& context) const {
  Work work = AllowedWork();
  return ExamineWithin(static_cast<NodeId>(node), context.With(work));
}

Result<Attributes> FileTreeSource::ExamineWithin(
    NodeId node, const ReadContext& context) const {
  Attributes attributes;
  const StoredAttributes stored = files->StoredAttributesOf(node);
  attributes.mtime = stored.mtime ? *stored.mtime : Mtime();
  attributes.mode = stored.mode;
  attributes.permissions = PermissionsOf(node);
  attributes.directory = files->IsDirectory(node);
  if (attributes.directory) {
    attributes.names = LinkCount(node, context);
    return attributes;
  }
  CTXFS_TRY(ExamineFile(node, context, attributes));
  return attributes;
}

Status FileTreeSource::ExamineFile(NodeId node, const ReadContext& context,
                                   Attributes& attributes) const {
  const FileTree::File file = files->At(node);
  const Result<uint64_t> size = files->Size(node, context);
  // The size of a generated document is wrong if its container has changed, so
  // that is checked first.
  if (file.table->size_cost(file.number) != Cost::kNone) {
    CTXFS_TRY(CheckUnchanged());
  }
  if (!size) return size.error();
  attributes.size = *size;
  attributes.link = files->Type(node) == NodeType::kLink;
  attributes.names = files->NameCount(node);
  attributes.locked = file.table->access(file.number) == Access::kLocked;
  if (file.table->live()) attributes.lifetime = Lifetime::kNone;
  return {};
}

std::optional<EntryInfo> FileTreeSource::Describe(
    Node node, const ReadContext& context) const {
  return files->Describe(static_cast<NodeId>(node), context);
}

Inode FileTreeSource::Parent(Node node) const {
  if (node == FileTree::kRoot) return kRootInode;
  return InodeOf(files->Parent(static_cast<NodeId>(node)));
}

std::string FileTreeSource::Path(Node node) const {
  return files->Path(static_cast<NodeId>(node));
}

Cost FileTreeSource::SizeCost(Node node) const {
  const auto file = static_cast<NodeId>(node);
  if (files->Type(file) != NodeType::kFile) return Cost::kNone;
  return files->SizeCost(file);
}

Result<std::string> FileTreeSource::ReadLink(Node node,
                                             const ReadContext& context) const {
  const auto link = static_cast<NodeId>(node);
  if (files->Type(link) != NodeType::kLink)
    return TreeSource::ReadLink(node, context);
  std::string target = files->LinkTarget(link);
  if (target.size() <= kMaxLinkTarget) return target;
  return Error{
      Code::kLimit,
      fmt::format(
          "the target of the link has {} bytes, and the kernel takes {}",
          target.size(), kMaxLinkTarget)};
}

}  // namespace ctxfs
