// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/numbered.h"
#include "core/tree/files.h"

namespace ctxfs {

/// Numbered files as a tree of its own: the root is the directory, node i + 1
/// is file i. A name is worked out from the number and the number from the
/// name, in constant time and no memory. `files` outlives it.
class NumberedDirectory final : public Files {
 public:
  explicit NumberedDirectory(const NumberedFiles& files) : files_(&files) {}

  bool IsDirectory(NodeId node) const override { return node == kRoot; }
  NodeId Parent(NodeId /*node*/) const override { return kRoot; }
  std::string Path(NodeId node) const override;
  std::optional<NodeId> Lookup(NodeId directory,
                               std::string_view name) const override;
  uint32_t ChildCount(NodeId /*directory*/) const override {
    return files_->count;
  }
  Child ChildAt(NodeId directory, uint32_t index) const override;
  Result<uint64_t> Size(NodeId file, const ReadContext& context) const override;
  bool SizeIsCheap(NodeId /*file*/) const override {
    return files_->size != nullptr;
  }
  Result<Content> Open(NodeId file, const ReadContext& context) const override {
    return files_->open(file - 1, context);
  }
  std::optional<EntryInfo> Describe(NodeId file) const override;

 private:
  /// At least `digits` decimal digits, and the suffix.
  std::string Name(uint32_t file) const;

  const NumberedFiles* files_;
};

}  // namespace ctxfs
