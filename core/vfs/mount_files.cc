// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mount_files.h"

#include <utility>

#include "core/tree/safe_name.h"

namespace ctxfs {

MountFiles::MountFiles(std::string_view container, std::string_view own,
                       OwnFile stats)
    : stats_(std::move(stats)) {
  TreeBuilder builder;
  if (!container.empty()) {
    container_ = builder.MakeDirectory(kRoot, SafeComponent(container));
  }
  if (!own.empty()) {
    const NodeId directory =
        builder.MakeDirectory(kRoot, builder.FreeName(kRoot, own));
    builder.AddFile(directory, stats_.path, 0);
  }
  tree_ = *std::move(builder).Build();  // three names are not too many
}

Result<uint64_t> MountFiles::Size(NodeId /*file*/,
                                  const ReadContext& context) const {
  Result<Content> content = stats_.open(context);
  if (!content) return std::move(content).error();
  return content->size();
}

}  // namespace ctxfs
