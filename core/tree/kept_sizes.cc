// SPDX-License-Identifier: Apache-2.0
#include "core/tree/kept_sizes.h"

#include <algorithm>

namespace ctxfs {

KeptSizes::KeptSizes(std::vector<NodeId> files)
    : files_(std::move(files)),
      sizes_(std::make_unique<std::atomic<uint64_t>[]>(files_.size())) {
  files_.shrink_to_fit();
  for (size_t i = 0; i < files_.size(); ++i) sizes_[i] = kUnknown;
}

std::optional<size_t> KeptSizes::IndexOf(NodeId file) const {
  const auto found = std::lower_bound(files_.begin(), files_.end(), file);
  if (found == files_.end() || *found != file) return std::nullopt;
  return static_cast<size_t>(found - files_.begin());
}

std::optional<uint64_t> KeptSizes::Known(NodeId file) const {
  const std::optional<size_t> index = IndexOf(file);
  if (!index) return std::nullopt;
  const uint64_t size = sizes_[*index].load(std::memory_order_relaxed);
  if (size == kUnknown) return std::nullopt;
  return size;
}

Result<uint64_t> KeptSizes::Get(NodeId file, const Measure& measure,
                                const ReadContext& context) const {
  std::atomic<uint64_t>& kept = sizes_[*IndexOf(file)];
  const uint64_t known = kept.load(std::memory_order_relaxed);
  if (known != kUnknown) return known;
  uint64_t size = CTXFS_TRY(measure(context));
  // After an interrupt the result may be incomplete.
  CTXFS_TRY(context.Check());
  kept.store(size, std::memory_order_relaxed);
  return size;
}

}  // namespace ctxfs
