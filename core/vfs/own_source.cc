// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/own_source.h"

#include <string>
#include <utility>

#include "core/tree/safe_name.h"

namespace ctxfs {

OwnSource::Tree::Tree(const Names& names,
                      std::shared_ptr<const FileTable> table)
    : stats(std::move(table)) {
  TreeBuilder builder;
  if (!names.container.empty()) {
    container = builder.MakeDirectory(kRoot, SafeComponent(names.container));
  }
  if (!names.own.empty()) {
    own = builder.MakeDirectory(kRoot, builder.FreeName(kRoot, names.own));
    std::string scratch;
    builder.AddFile(*own, stats->Path(0, scratch).value_or(""), 0);
  }
  tree_ = *std::move(builder).Build();  // cannot fail for three names
}

OwnSource::OwnSource(const MountRules& rules, const Names& names,
                     std::shared_ptr<const FileTable> stats, Top top)
    : FileTreeSource(rules),
      tree_(names, std::move(stats)),
      top_(std::move(top)) {
  files = &tree_;
  at = base = kRootInode;
}

FileTime OwnSource::Mtime() const {
  return top_ == nullptr ? rules().mtime : top_()->Mtime();
}

std::optional<Permissions> OwnSource::PermissionsOf(NodeId node) const {
  // Only the container's directory has permissions: those of the container.
  if (top_ == nullptr || node != container_node()) return std::nullopt;
  return top_()->RootPermissions();
}

uint32_t OwnSource::LinkCount(NodeId directory,
                              const ReadContext& context) const {
  if (top_ == nullptr) return FileTreeSource::LinkCount(directory, context);
  const uint32_t of_container = top_()->LinkCount(FileTree::kRoot, context);
  if (directory == container_node() || of_container == 1) return of_container;
  return FileTreeSource::LinkCount(directory, context);
}

}  // namespace ctxfs
