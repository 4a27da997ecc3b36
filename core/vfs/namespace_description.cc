// SPDX-License-Identifier: Apache-2.0
//
// What a Namespace says of a file besides its attributes: its entry's
// description, its last fault and its path.
#include <string>

#include "core/vfs/namespace.h"

namespace ctxfs {
namespace {

/// Whether an error says something of the container, and not of the moment or
/// of who asks.
bool IsOfTheContainer(const Error& error) {
  return error.code == Code::kIo ||
         (error.Permanent() && error.code != Code::kLocked);
}

}  // namespace

Maybe<EntryInfo> Namespace::Describe(Inode inode,
                                     const ReadContext& context) const {
  if (IsMirrored(inode)) return std::optional<EntryInfo>();
  // What was verified before a change of ctime is not verified now.
  const Result<Place> place = FindRenewed(inode, context);
  if (!place) return place.error();
  if (place->files().IsDirectory(place->node)) {
    return std::optional<EntryInfo>();
  }
  std::optional<EntryInfo> info = place->files().Describe(place->node, context);
  const ContainerTree* branch = ContainerOf(*place->tree).branch.get();
  if (branch == nullptr || branch->faults().empty()) return info;
  const auto fault = branch->faults().LatestOf(PathIn(*place));
  if (!fault) return info;
  if (!info) {
    info.emplace();
    info->computed = true;
  }
  info->note = fault->Text();
  return info;
}

void Namespace::NoteFailure(Inode inode, const Error& error,
                            const ReadContext& context) const {
  if (IsMirrored(inode) || !IsOfTheContainer(error)) return;
  const Result<Place> place = Find(inode, context);
  if (!place) return;
  const MountedTree& container = ContainerOf(*place->tree);
  if (container.branch == nullptr) return;
  container.branch->faults().Note(PathIn(*place), error);
}

const MountedTree& Namespace::ContainerOf(const MountedTree& tree) {
  const MountedTree* at = &tree;
  while (at->outer != nullptr && !at->IsContainer()) at = at->outer.get();
  return *at;
}

std::string Namespace::PathIn(const Place& place) {
  std::string path = place.files().Path(place.node);
  const MountedTree* const container = &ContainerOf(*place.tree);
  for (const MountedTree* tree = place.tree.get(); tree != container;
       tree = tree->outer.get()) {
    const MountedTree& outer = *tree->outer;
    path = outer.files->Path(outer.NodeOf(tree->at)) + "/" + path;
  }
  return path;
}

std::string Namespace::PathInContainer(Inode inode,
                                       const ReadContext& context) const {
  const Result<Place> place = Find(inode, context);
  return place ? PathIn(*place) : std::string();
}

std::string Namespace::Path(Inode inode, const ReadContext& context) const {
  if (IsMirrored(inode)) return mirror_ ? mirror_->PathOf(inode) : "";
  const auto attachment = attached_.AttachmentOf(
      static_cast<MountedContainers::Number>(inode >> 32));
  const Result<Place> place = Find(inode, context);
  const std::string path = place ? place->files().Path(place->node) : "";
  const bool top = inode >> 32 == MountedContainers::kTop;
  if (top || !attachment) return path;
  const std::string directory = Path(attachment->at, context);
  return place ? directory + "/" + path : directory;
}

}  // namespace ctxfs
