// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/container/container.h"
#include "core/vfs/mirror/mirror.h"
#include "core/vfs/tree_source.h"

namespace ctxfs {

/// The directories and plain files of a Mirror. A node is its inode. A
/// container appears as a directory; a ContainerSource shows its files.
class MirrorSource final : public TreeSource {
 public:
  /// `make_room` closes an unused container to free its descriptors; returns
  /// false if there is none.
  MirrorSource(std::unique_ptr<Mirror> mirror, const MountRules& rules,
               std::function<bool()> make_room);

  Maybe<FoundNode> Lookup(Node directory, std::string_view name,
                          const ReadContext& context) const override;
  Result<OpenFile> Open(Node file, const ReadContext& context) const override;
  std::unique_ptr<Listing> List(Node directory) const override;
  Result<Attributes> Examine(Node node,
                             const ReadContext& context) const override;
  Result<std::string> ReadLink(Node node,
                               const ReadContext& context) const override;
  Inode Parent(Node node) const override { return mirror_->Parent(node); }
  std::string Path(Node node) const override { return mirror_->PathOf(node); }
  Maybe<OpenFile> Reopen(const OpenFile& file) const override;
  void NoteOpened(Inode inode, const OpenFile& file) const override;

  Mirror& mirror() const { return *mirror_; }

  /// Opens or reopens the container at `inode`. A damaged container opens as an
  /// unreadable one.
  Result<std::shared_ptr<const Container>> OpenContainer(
      Inode inode, const ReadContext& context) const;

 private:
  class MirrorListing;

  Result<SourcePtr> OpenSourceOf(Inode inode, const Request& request) const;
  /// Whether reads show the current bytes of the file (OpenFile::live).
  bool IsLive(Inode inode, const Source& source, const Request& request) const;

  const std::unique_ptr<Mirror> mirror_;
  const MountRules& rules_;
  const std::function<bool()> make_room_;
};

}  // namespace ctxfs
