// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/container_source.h"

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/unreadable.h"
#include "core/vfs/containers/open_container.h"

namespace ctxfs {
namespace {

/// Returns an unreadable container for damage; passes transient errors on.
Result<std::shared_ptr<const Container>> Unreadable(SourcePtr source,
                                                    Error reason) {
  if (!reason.Permanent()) return reason;
  return UnreadableContainer(std::move(source), std::move(reason));
}

}  // namespace

Result<OpenFile> ContainerSource::Open(Node file,
                                       const ReadContext& context) const {
  OpenFile opened = CTXFS_TRY(FileTreeSource::Open(file, context));
  const auto node = static_cast<NodeId>(file);
  opened.made_from = container_tree->container().source();
  opened.stored_size = stored_size();
  opened.pages = pages->Of(node);
  opened.same_pages = opened.same_pages && opened.pages.good;
  const FileTree::File at = files->At(node);
  if (HoldsEntries(at.table->placement().role)) {
    opened.entries = {container_tree, at.table};
    opened.entry = at.number;
  }
  return opened;
}

std::optional<EntryInfo> ContainerSource::Describe(
    Node node, const ReadContext& context) const {
  if (files->IsDirectory(static_cast<NodeId>(node))) return std::nullopt;
  std::optional<EntryInfo> info = FileTreeSource::Describe(node, context);
  const FaultLedger& faults = Whole().container_tree->faults();
  if (faults.empty()) return info;
  const auto fault = faults.LatestOf(Path(node));
  if (!fault) return info;
  if (!info) {
    info.emplace();
    info->computed = true;
  }
  info->note = fault->Text();
  return info;
}

void ContainerSource::NoteFailure(Node node, const Error& error) const {
  Whole().container_tree->faults().Record(Path(node), error);
}

const ContainerSource& ContainerSource::Whole() const {
  const ContainerSource* at = this;
  while (at->outer != nullptr && !at->IsContainer()) at = at->outer.get();
  return *at;
}

std::string ContainerSource::Path(Node node) const {
  std::string path = files->Path(static_cast<NodeId>(node));
  const ContainerSource* const whole = &Whole();
  for (const ContainerSource* tree = this; tree != whole;
       tree = tree->outer.get()) {
    const ContainerSource& outer = *tree->outer;
    path = outer.files->Path(outer.NodeOf(tree->at)) + "/" + path;
  }
  return path;
}

Status ContainerSource::CheckUnchanged() const {
  return container_tree->container().source()->CheckUnchanged();
}

void ContainerSource::NoteOpened(Inode inode, const OpenFile& file) const {
  pages->NoteOpened(NodeOf(inode), file.pages);
}

FileTime ContainerSource::Mtime() const {
  return mtime == FileTime() ? rules().mtime : mtime;
}

std::optional<Permissions> ContainerSource::PermissionsOf(NodeId node) const {
  // A container in memory has no file, and so no readers to whom its
  // permissions could be granted. Nobody gets a permission.
  if (!readers) return Permissions{};
  const mode_t search = files->IsDirectory(node) ? readers->bits >> 2 : 0;
  return Permissions{readers->uid, readers->gid, readers->bits | search};
}

// Does not count links while the total size is unknown. find calls statfs for a
// directory whose links are counted, and statfs would have to decode files to
// compute the total size.
uint32_t ContainerSource::LinkCount(NodeId directory,
                                    const ReadContext& context) const {
  for (const ContainerSource* tree = this; tree != nullptr;
       tree = tree->outer.get()) {
    if (!tree->container_tree->KnowsTotalSize()) return 1;
  }
  return FileTreeSource::LinkCount(directory, context);
}

uint64_t ContainerSource::stored_size() const {
  return container_tree->container().StoredSize();
}

Status ContainerSource::ShowNumbered(NodeId node, const ReadContext& context) {
  const NumberedDirectory& numbered = *container_tree->Numbered(node);
  files = &numbered;
  Work work = AllowedWork();
  return numbered.FindNames(context.With(work));
}

Result<std::shared_ptr<const Container>> ContainerSource::OpenNested(
    NodeId node, const ReadContext& context) const {
  Work work = AllowedWork();
  const ReadContext bounded = context.With(work);
  const ChildContainer nested = *files->NestedAt(node);
  // The unreadable container has a slice of the outer source, so that it
  // becomes stale with the outer container.
  const auto unreadable = [this](Error reason) {
    return Unreadable(std::make_shared<const SliceSource>(
                          container_tree->container().source(), 0, 0),
                      std::move(reason));
  };
  if (nested.open != nullptr) {
    auto opened = nested.open(bounded);
    Status admitted = HeapAllowance::Check();
    return admitted ? opened : unreadable(std::move(admitted).error());
  }
  Result<SourcePtr> source = nested.open_source(bounded);
  if (!source) return unreadable(std::move(source).error());
  if (depth >= limits::kContainerDepth) {
    return Unreadable(*source,
                      {Code::kLimit, "containers within containers end here"});
  }
  return OpenRecorded(*source, rules().open, bounded, [](const Error&) {});
}

Status ContainerSource::Measure(const ReadContext& context) const {
  for (const NodeId file : container_tree->UnmeasuredFiles()) {
    Work work = AllowedWork();
    (void)container_tree->Size(file, context.With(work));
    CTXFS_TRY(context.Check());
  }
  return {};
}

}  // namespace ctxfs
