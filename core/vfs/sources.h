// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/vfs/mirror.h"

namespace ctxfs {

/// What is served: a container, or directories with containers in them.
struct Sources {
  std::shared_ptr<const Container> container;  // null: the tops
  std::vector<Mirror::Top> tops;               // none: the directory
  std::string directory;                       // absolute
};

/// What a command's SOURCEs are (docs/tree.md, section 1). `failed` is the one
/// that an Error is about.
Result<Sources> FindSources(const std::vector<std::string>& paths,
                            const OpenOptions& options, std::string* failed);

/// Whether `path` is a directory, and neither a container nor meant as one.
bool IsPlainDirectory(const std::string& path);

/// The last component of a path, whatever slashes end it.
std::string BaseName(const std::string& path);

}  // namespace ctxfs
