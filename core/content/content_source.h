// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/bytes.h"
#include "core/content/block_cache.h"
#include "core/content/content.h"
#include "core/io/source.h"

namespace ctxfs {

/// A Content as the bytes of a container: an encoded entry that is itself a
/// container. Stores no bytes: reads go through the cache, which decodes the
/// entry again after an eviction.
class ContentSource final : public DerivedSource {
 public:
  /// `content` is made from `stored`. The cache must outlive the source.
  ContentSource(std::shared_ptr<const Source> stored, Content content,
                BlockCache& cache)
      : DerivedSource(std::move(stored)),
        content_(std::move(content)),
        cache_(cache) {}

  uint64_t size() const override { return content_.size(); }

  /// May decode the entry. That does not count as work of the request: the
  /// nested container has its own bound.
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override;

 private:
  Content content_;
  BlockCache& cache_;
};

}  // namespace ctxfs
