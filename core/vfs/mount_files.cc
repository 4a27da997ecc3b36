// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mount_files.h"

#include <string>
#include <utility>

#include "core/tree/safe_name.h"

namespace ctxfs {

MountFiles::MountFiles(std::string_view container, std::string_view own,
                       std::shared_ptr<const FileTable> stats)
    : stats_(std::move(stats)) {
  TreeBuilder builder;
  if (!container.empty()) {
    container_ = builder.MakeDirectory(kRoot, SafeComponent(container));
  }
  if (!own.empty()) {
    own_ = builder.MakeDirectory(kRoot, builder.FreeName(kRoot, own));
    std::string scratch;
    builder.AddFile(*own_, stats_->Path(0, scratch).value_or(""), 0);
  }
  tree_ = *std::move(builder).Build();  // three names are not too many
}

}  // namespace ctxfs
