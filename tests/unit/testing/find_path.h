// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/tree/container_tree.h"

namespace ctxfs {

/// The node at `path` of a container, if there is one.
inline std::optional<NodeId> Find(const ContainerTree& tree,
                                  std::string_view path) {
  NodeId node = NameTree::kRoot;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const auto child = tree.tree().Lookup(node, path.substr(0, slash));
    if (!child) return std::nullopt;
    node = *child;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return node;
}

}  // namespace ctxfs
