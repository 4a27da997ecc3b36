// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/tar_builder.h"

namespace ctxfs {
extern const Format kTar;
}

/// How tests open archives of tar and read what is shown of them.
namespace ctxfs::tar {

using Paths = std::vector<std::string>;

inline Result<std::shared_ptr<const Container>> Open(std::string bytes,
                                                     bool salvage = false) {
  OpenOptions options;
  options.salvage = salvage;
  return kTar.open(std::make_shared<MemorySource>(std::move(bytes)), options,
                   LoneContext());
}

inline Result<std::shared_ptr<const Container>> Open(const TarBuilder& tar) {
  return Open(tar.bytes());
}

/// All files but those of `.ctxfs` and `views`, in the order of the tree.
inline Paths FilesIn(const std::shared_ptr<const Container>& container) {
  const ContainerTree tree(container);
  Paths paths;
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.Entry(node)) paths.push_back(tree.Path(node));
  }
  return paths;
}

inline std::string ReadPath(const std::shared_ptr<const Container>& container,
                            std::string_view path) {
  const ContainerTree tree(container);
  BlockCache cache(1 << 24);
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.IsDirectory(node) || tree.Path(node) != path) continue;
    const Result<Content> content = tree.Open(node, cache);
    if (!content) return "error: " + content.error().what;
    const Result<std::string> bytes = ReadAll(*content, cache);
    return bytes ? *bytes : "error: " + bytes.error().what;
  }
  return "error: no such file";
}

inline std::string WarningsOf(const Container& container) {
  return container.Info(LoneContext())["warnings"].dump();
}

}  // namespace ctxfs::tar
