// SPDX-License-Identifier: Apache-2.0
//
// Directories of a Namespace, as those who open them see them.
#include <utility>

#include "core/vfs/namespace.h"

namespace ctxfs {

/// A directory whose children are in a tree.
class Namespace::TreeListing final : public Listing {
 public:
  TreeListing(const Namespace& files, Inode inode, Directory directory)
      : files_(files), inode_(inode) {
    Show(std::move(directory));
  }

  /// Names are told without reading, but for those that may have no file: of a
  /// container that was touched these are told anew. Of one that has changed
  /// they cannot be told, and are listed.
  Status Rewind(const ReadContext& context) override {
    if (directory_.inside.tree->CheckUnchanged()) return {};
    Maybe<Directory> now = files_.RenewedAt(inode_, context);
    if (now && *now) Show(std::move(**now));
    return {};
  }

  uint64_t count() const override {
    const Place& inside = directory_.inside;
    return uint64_t{first_} + inside.files().ChildCount(inside.node);
  }

  std::optional<Name> At(uint64_t index, bool attributes,
                         const ReadContext& context) const override {
    const bool first = index < first_;
    Place at = first ? *directory_.around : directory_.inside;
    const auto number = static_cast<uint32_t>(first ? index : index - first_);
    FileTree::Child child = at.files().ChildAt(at.node, number);
    at.node = child.node;
    if (!files_.IsListed(at.files(), child.node)) return std::nullopt;
    if (!first && HasAround(child.name, context)) return std::nullopt;
    if (!Exists(at.files(), child.node, context)) return std::nullopt;
    Name name{at.inode(), std::move(child.name), child.directory};
    // Attributes may be told unasked if their size takes a small read at most.
    if (attributes && (child.directory ||
                       at.files().SizeCost(child.node) <= Cost::kSmallRead)) {
      const Result<Attributes> found = files_.ExamineAt(at, context);
      if (found) name.attributes = *found;
    }
    return name;
  }

 private:
  /// What cannot be told, for an I/O error, is listed: to look it up tells.
  static bool Exists(const FileTree& files, NodeId node,
                     const ReadContext& context) {
    const Result<bool> exists = files.Exists(node, Cost::kSmallRead, context);
    return !exists || *exists;
  }

  /// Whether one of those around has the name, which it then has alone.
  bool HasAround(std::string_view name, const ReadContext& context) const {
    if (first_ == 0) return false;
    const FileTree& around = directory_.around->files();
    const auto node = around.Lookup(directory_.around->node, name);
    return node && Exists(around, *node, context);
  }

  void Show(Directory directory) {
    directory_ = std::move(directory);
    const std::optional<Place>& around = directory_.around;
    first_ = around ? around->files().ChildCount(around->node) : 0;
  }

  const Namespace& files_;
  const Inode inode_;
  Directory directory_;
  uint32_t first_ = 0;  // how many of the names are those around
};

/// One of the system's directories, as it was when the reader began; at the
/// root followed by the mount's own files. Gives no attributes: the kernel
/// would keep them, and the files may change.
class Namespace::MirrorListing final : public Listing {
 public:
  MirrorListing(const Namespace& files, Inode directory)
      : files_(files), directory_(directory) {}

  Status Rewind(const ReadContext& context) override {
    Result<std::shared_ptr<const DirectorySnapshot>> listed =
        files_.mirror_->List(directory_, context);
    if (!listed) return std::move(listed).error();
    mirrored_ = std::move(*listed);
    // All of the mount's own are aside.
    if (directory_ == kRoot && files_.list_mode_ == ListMode::kAll) {
      own_ = files_.own_.ChildCount(FileTree::kRoot);
    }
    return {};
  }

  uint64_t count() const override { return MirroredCount() + own_; }

  std::optional<Name> At(uint64_t index, bool /*attributes*/,
                         const ReadContext& /*context*/) const override {
    using Type = DirectorySnapshot::Type;
    if (index < MirroredCount()) {
      const DirectorySnapshot::Name name = mirrored_->At(index);
      return Name{files_.mirror_->InodeNow(directory_, name.name, name.inode),
                  std::string(name.name), name.type == Type::kDirectory,
                  name.type != Type::kUnknown};
    }
    FileTree::Child child = files_.own_.ChildAt(
        FileTree::kRoot, static_cast<uint32_t>(index - MirroredCount()));
    return Name{kRoot + child.node, std::move(child.name), child.directory};
  }

  bool immutable() const override { return false; }

 private:
  uint64_t MirroredCount() const {
    return mirrored_ == nullptr ? 0 : mirrored_->count();
  }

  const Namespace& files_;
  const Inode directory_;
  std::shared_ptr<const DirectorySnapshot> mirrored_;  // null before Rewind
  uint32_t own_ = 0;  // names of the mount's own, after those
};

bool Namespace::IsListed(const FileTree& files, NodeId child) const {
  if (list_mode_ == ListMode::kAll) return true;
  const std::optional<Role> aside = files.Aside(child);
  return !aside || (list_mode_ == ListMode::kViews && *aside == Role::kViews);
}

Result<std::unique_ptr<Listing>> Namespace::OpenDirectory(
    Inode inode, const ReadContext& context) const {
  std::unique_ptr<Listing> listing;
  Maybe<Directory> directory = EnteredAt(inode, context);
  if (!directory) return std::move(directory).error();
  if (*directory) {
    listing =
        std::make_unique<TreeListing>(*this, inode, std::move(**directory));
  } else {
    listing = std::make_unique<MirrorListing>(*this, inode);
  }
  return listing;
}

}  // namespace ctxfs
