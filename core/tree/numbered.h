// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/container/numbered.h"
#include "core/tree/tree.h"

namespace ctxfs {

/// Numbered files as a tree of its own: the root is the directory, node i + 1
/// is file i. A name is worked out from the number and the number from the
/// name, in constant time and no memory. `files` outlives it.
class NumberedDirectory {
 public:
  explicit NumberedDirectory(const NumberedFiles& files) : files_(&files) {}

  uint32_t count() const { return files_->count; }
  const NumberedFiles& files() const { return *files_; }

  static constexpr NodeId NodeOf(uint32_t file) { return file + 1; }
  static constexpr uint32_t FileAt(NodeId node) { return node - 1; }

  /// The file's name, by its number: at least `digits` decimal digits.
  std::string Name(uint32_t file) const;

  /// The number of the file that has exactly this name.
  std::optional<uint32_t> Lookup(std::string_view name) const;

  /// Bytes of a file; costs nothing where SizeIsCheap.
  Result<uint64_t> Size(uint32_t file, BlockCache& cache) const;
  bool SizeIsCheap() const { return files_->size != nullptr; }

  Result<Content> Open(uint32_t file, BlockCache& cache) const {
    return files_->open(file, cache);
  }
  std::optional<EntryInfo> Describe(uint32_t file) const;

 private:
  const NumberedFiles* files_;
};

}  // namespace ctxfs
