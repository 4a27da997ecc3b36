// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/namespace.h"

#include <utility>

#include "core/vfs/directory_listing.h"

namespace ctxfs {

using Place = Resolver::Place;

namespace {

/// Whether an error says something about the container: an I/O error, or a
/// permanent error that is not a missing key.
bool IsOfTheContainer(const Error& error) {
  return error.code == Code::kIo ||
         (error.Permanent() && error.code != Code::kLocked);
}

}  // namespace

Status Namespace::status() const {
  if (Status fits = resolver_.containers().top_status(); !fits) return fits;
  const MountedContainers::Tree top = resolver_.Top();
  return top == nullptr ? Status() : top->container_tree->status();
}

Maybe<FoundNode> Namespace::Lookup(Inode directory, std::string_view name,
                                   const ReadContext& context) const {
  return resolver_.AtDirectory(
      resolver_.Decode(directory), context,
      [&](const Place& first) -> Maybe<FoundNode> {
        Maybe<FoundNode> found =
            first.source->Lookup(first.node, name, context);
        if (!found || *found) return found;
        // Searches the attached container second, so that it is not opened for
        // a name that `first` has.
        const std::optional<Place> attached =
            CTXFS_TRY(resolver_.AttachedTo(first, context));
        if (!attached) return found;
        return attached->source->Lookup(attached->node, name, context);
      });
}

Lifetime Namespace::NamesLast(Inode directory) const {
  return resolver_.Decode(directory).mirrored() ? Lifetime::kMoment
                                                : Lifetime::kForever;
}

Result<Attributes> Namespace::Examine(Inode inode,
                                      const ReadContext& context) const {
  return resolver_.At(resolver_.Decode(inode), context,
                      [&](const Place& place) {
                        return place.source->Examine(place.node, context);
                      });
}

Result<Cost> Namespace::SizeCost(Inode inode,
                                 const ReadContext& context) const {
  const Place place =
      CTXFS_TRY(resolver_.FindFresh(resolver_.Decode(inode), context));
  return place.source->SizeCost(place.node);
}

Result<std::unique_ptr<Listing>> Namespace::OpenDirectory(
    Inode inode, const ReadContext& context) const {
  const InodeRef directory = resolver_.Decode(inode);
  auto layers =
      CTXFS_TRY(resolver_.Layers(directory, /*fresh=*/false, context));
  std::unique_ptr<Listing> listing = std::make_unique<DirectoryListing>(
      resolver_, directory, std::move(layers));
  return listing;
}

Result<std::shared_ptr<const ContainerTree>> Namespace::TreeAt(
    Inode directory, const ReadContext& context) const {
  const std::vector<Place> layers = CTXFS_TRY(
      resolver_.Layers(resolver_.Decode(directory), /*fresh=*/true, context));
  for (const Place& place : layers) {
    if (place.tree != nullptr && place.tree->IsContainer() &&
        place.node == FileTree::kRoot) {
      return place.tree->container_tree;
    }
  }
  return Error{Code::kNotContainer, "the directory is no container"};
}

Result<std::shared_ptr<const Container>> Namespace::ContainerAt(
    Inode directory, const ReadContext& context) const {
  const auto tree = CTXFS_TRY(TreeAt(directory, context));
  return tree->container().shared_from_this();
}

Result<std::string> Namespace::ViewsAt(Inode directory,
                                       const ReadContext& context) const {
  const auto tree = CTXFS_TRY(TreeAt(directory, context));
  const std::optional<NodeId> views = tree->Aside(Role::kViews);
  return views ? tree->Path(*views) : std::string();
}

Inode Namespace::Parent(Inode inode, const ReadContext& context) const {
  const Result<Place> place = resolver_.Find(resolver_.Decode(inode), context);
  return place ? place->source->Parent(place->node) : kRootInode;
}

Result<OpenFile> Namespace::Open(Inode inode,
                                 const ReadContext& context) const {
  Result<OpenFile> opened =
      resolver_.At(resolver_.Decode(inode), context, [&](Place place) {
        Result<OpenFile> file = place.source->Open(place.node, context);
        if (file) file->tree = std::move(place.source);
        return file;
      });
  if (!opened) NoteFailure(inode, opened.error(), context);
  return opened;
}

Result<OpenFile> Namespace::Reopen(Inode inode, const OpenFile& file,
                                   int attempt,
                                   const ReadContext& context) const {
  // Gives up on a file that keeps changing.
  if (attempt < Renewal::kMax) {
    std::optional<OpenFile> alone = CTXFS_TRY(file.tree->Reopen(file));
    if (alone) return std::move(*alone);
  }
  CTXFS_TRY(resolver_.RenewFor(resolver_.Decode(inode), attempt, context));
  Result<OpenFile> opened = Open(inode, context);
  // The text differs at each open, so the reader keeps the text of its own
  // open.
  if (opened && file.lifetime == Lifetime::kNone) {
    opened->content = file.content;
  }
  if (opened && opened->content.size() != file.content.size()) {
    return Error{Code::kStale, "the file is of another size now"};
  }
  return opened;
}

Result<std::string> Namespace::ReadLink(Inode inode,
                                        const ReadContext& context) const {
  const Place place =
      CTXFS_TRY(resolver_.FindFresh(resolver_.Decode(inode), context));
  return place.source->ReadLink(place.node, context);
}

Maybe<EntryInfo> Namespace::Describe(Inode inode,
                                     const ReadContext& context) const {
  // Uses FindFresh, because a change of ctime invalidates the verdicts.
  const Place place =
      CTXFS_TRY(resolver_.FindFresh(resolver_.Decode(inode), context));
  return place.source->Describe(place.node, context);
}

void Namespace::NoteFailure(Inode inode, const Error& error,
                            const ReadContext& context) const {
  if (!IsOfTheContainer(error)) return;
  const Result<Place> place = resolver_.Find(resolver_.Decode(inode), context);
  if (place) place->source->NoteFailure(place->node, error);
}

std::string Namespace::PathInContainer(Inode inode,
                                       const ReadContext& context) const {
  const Result<Place> place = resolver_.Find(resolver_.Decode(inode), context);
  return place ? place->source->Path(place->node) : std::string();
}

std::string Namespace::PathInFile(Inode inode,
                                  const ReadContext& context) const {
  return resolver_.PathInFile(resolver_.Decode(inode), context);
}

std::string Namespace::Path(Inode inode, const ReadContext& context) const {
  return resolver_.Path(resolver_.Decode(inode), context);
}

MountedContainers::Totals Namespace::Totals() const {
  return resolver_.containers().Sum();
}

Result<MountedContainers::Totals> Namespace::MeasuredTotals(
    const ReadContext& context) const {
  if (const MountedContainers::Tree top = resolver_.Top()) {
    CTXFS_TRY(top->Measure(context));
  }
  return Totals();
}

}  // namespace ctxfs
