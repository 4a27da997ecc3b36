// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/vfs/containers/mounted_containers.h"
#include "core/vfs/mirror/system_directory.h"

namespace ctxfs {

/// The files that a mount serves: a container, or directories that may have
/// containers in them.
struct Sources {
  std::shared_ptr<const Container> container;  // null: `tops` or `directory`
  std::vector<SystemDirectory::Top> tops;      // empty: `directory`
  std::string directory;                       // absolute, or a URL
  uint64_t bytes = 0;  // heap used by opening `container`
};

/// The directories of `sources`, which must not be a container.
std::unique_ptr<Directory> DirectoryOf(Sources sources,
                                       const SystemDirectory::Options& options);

/// The budget for open containers with `index` bytes; 0: the default.
MountedContainers::Budget BudgetFor(const Sources& sources, uint64_t index = 0);

/// Examines the SOURCEs of a command (docs/tree.md, section 1). If it fails,
/// `failed` is the path that the Error is about. `index`: see BudgetFor.
Result<Sources> FindSources(const std::vector<std::string>& paths,
                            const OpenOptions& options, std::string* failed,
                            uint64_t index = 0,
                            const Request& request = Request());

/// Whether `path` is a directory that is no container and not meant as one.
bool IsPlainDirectory(const std::string& path,
                      const Request& request = Request());

/// The directories that may have the files named by the container at `path`, or
/// by containers in the directory `path`. These are `path` itself if it is a
/// directory, else the directory of `path` and, if `path` is a link, of its
/// target; and the directories of a download cache beside them (TreesBeside,
/// core/io/download_cache.h). Does not include the targets of links inside
/// them. Empty if `path` does not exist.
std::vector<std::string> TreesOf(const std::string& path);

/// The last component of a path or URL, without trailing slashes; of a URL,
/// also without its query and version.
std::string BaseName(const std::string& path);

}  // namespace ctxfs
