// SPDX-License-Identifier: Apache-2.0
//
// What must hold of any container, however damaged: fuzz targets and mutations
// read containers in their own ways and judge them by this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/base/limits.h"
#include "core/container/container.h"
#include "core/content/content.h"
#include "core/tree/file_tree.h"
#include "core/tree/name_tree.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {

/// Aborts where it does not hold: unlike assert, in every build.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline void RequireSafeName(std::string_view name) {
  Require(!name.empty() && name != "." && name != ".." &&
              name.size() <= limits::kComponentBytes &&
              name.find('/') == std::string_view::npos &&
              name.find('\0') == std::string_view::npos,
          "a name is one component");
}

/// Describes at most `most` entries, and opens all arrays.
inline void RequireSound(const Container& container, BlockCache& cache,
                         uint32_t most) {
  const Json metadata = container.Metadata(Request());
  const auto table = container.Entries();
  const uint32_t entries = std::min(table->count(), most);
  for (uint32_t i = 0; i < entries; ++i) {
    EntryInfo info = table->Describe(i, LoneContext()).value_or(EntryInfo{});
    const std::optional<uint64_t> known = table->KnownSize(i);
    Require(!known || info.size == *known, "an entry has one size");
    container.Annotate(metadata, info);
    (void)table->access(i);
  }
  for (const ArrayInfo& array : ArraysOf(container)) {
    const Result<Content> elements = array.open(cache);
    if (!elements) continue;
    uint64_t bits = DTypeBits(array.dtype);
    for (const uint64_t dimension : array.shape) bits *= dimension;
    Require(elements->size() == bits / 8 + (bits % 8 != 0 ? 1 : 0),
            "an array is as long as its shape");
  }
}

inline void RequireFound(const NameTree& tree, NodeId node) {
  if (node == NameTree::kRoot) return;
  RequireSafeName(tree.Name(node));
  Require(tree.Lookup(tree.Parent(node), tree.Name(node)) == node,
          "a name leads to its node");
}

/// Calls `read` for files that are computed from their numbers: about `most`,
/// from the first on.
template <typename Read>
void ForNumbered(const FileTree& directory, uint32_t most, Read read) {
  const uint32_t count = directory.ChildCount(FileTree::kRoot);
  const uint32_t step = std::max(1U, count / most);
  for (uint64_t number = 0; number < count; number += step) {
    const FileTree::Child child =
        directory.ChildAt(FileTree::kRoot, static_cast<uint32_t>(number));
    RequireSafeName(child.name);
    Require(directory.Lookup(FileTree::kRoot, child.name) == child.node,
            "a number leads to its file");
    read(child.node);
  }
}

}  // namespace ctxfs
