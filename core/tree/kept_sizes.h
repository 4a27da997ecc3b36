// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/tree/name_tree.h"

namespace ctxfs {

/// Stores the sizes, in bytes, of those files of a tree that must be opened to
/// be measured, so that each is measured once. Takes 12 bytes per file. The
/// constructor allocates them all, so that they count as memory of the open
/// container. Safe for any number of threads.
class KeptSizes {
 public:
  using Measure = std::function<Result<uint64_t>(const ReadContext&)>;

  KeptSizes() = default;
  /// `files` must be in ascending order.
  explicit KeptSizes(std::vector<NodeId> files);

  const std::vector<NodeId>& files() const { return files_; }

  /// Whether this stores the size of `file` once it is known.
  bool Has(NodeId file) const { return IndexOf(file).has_value(); }

  /// The size of `file`, if it has been measured.
  std::optional<uint64_t> Known(NodeId file) const;

  /// Returns the size of `file`, which must be one of files(); calls `measure`
  /// if the size is unknown. A failure of `measure` is not kept. Concurrent
  /// requests may all call `measure`, but the cache lets only one generate the
  /// text (CachedText).
  Result<uint64_t> Get(NodeId file, const Measure& measure,
                       const ReadContext& context) const;

 private:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  std::optional<size_t> IndexOf(NodeId file) const;

  std::vector<NodeId> files_;
  std::unique_ptr<std::atomic<uint64_t>[]> sizes_;  // kUnknown until measured
};

}  // namespace ctxfs
