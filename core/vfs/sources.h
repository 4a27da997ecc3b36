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

/// What is served: a container, or directories with containers in them.
struct Sources {
  std::shared_ptr<const Container> container;  // null: the tops
  std::vector<SystemDirectory::Top> tops;      // none: the directory
  std::string directory;                       // absolute, or a URL
  uint64_t bytes = 0;  // of heap that opening `container` has taken
};

/// The directories of `sources`, which are no container.
std::unique_ptr<Directory> DirectoryOf(Sources sources,
                                       const SystemDirectory::Options& options);

/// The budget for open containers with `index` bytes of memory; 0: the default.
MountedContainers::Budget BudgetFor(const Sources& sources, uint64_t index = 0);

/// What a command's SOURCEs are (docs/tree.md, section 1). `failed` is the one
/// that an Error is about; `index` as for BudgetFor.
Result<Sources> FindSources(const std::vector<std::string>& paths,
                            const OpenOptions& options, std::string* failed,
                            uint64_t index = 0,
                            const Request& request = Request());

/// Whether `path` is a directory, and neither a container nor meant as one.
bool IsPlainDirectory(const std::string& path,
                      const Request& request = Request());

/// The directories in which a container at `path`, or those in the directory
/// `path`, may name files, symbolic links not followed: its own, that of the
/// link that `path` may be, and that of the blobs of a download cache
/// (core/io/download_cache.h). Empty if nothing is there.
std::vector<std::string> TreesOf(const std::string& path);

/// The last component of a path, whatever slashes end it.
std::string BaseName(const std::string& path);

}  // namespace ctxfs
