// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tree/container_tree.h"
#include "tests/unit/testing/fake_container.h"

namespace ctxfs {

using Names = std::vector<std::optional<std::string>>;

inline std::shared_ptr<FakeContainer> Fake(Names names) {
  return std::make_shared<FakeContainer>(std::move(names));
}

/// The node at `path`, by a search of all of them.
inline std::optional<NodeId> Find(const ContainerTree& tree,
                                  std::string_view path) {
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.tree().Path(node) == path) return node;
  }
  return std::nullopt;
}

}  // namespace ctxfs
