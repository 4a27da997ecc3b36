// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/heap/heap_meter.h"
#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A Content that is made at its first use: one thread makes it, and other
/// threads that need it wait. It is stored as long as this object exists, in
/// memory that counts against the cache (BlockCache::Lend). A permanent failure
/// is stored, too, because detecting damage or an excess of a limit can take
/// long. After a transient failure the next use retries.
class MadeOnce {
 public:
  using Make = std::function<Result<Content>(const ReadContext&)>;

  explicit MadeOnce(Make make) : make_(std::move(make)) {}

  Result<Content> Get(const ReadContext& context) const {
    const auto done = [this] { return state_.load() != nullptr; };
    const auto make = [this](const ReadContext& shared) -> Status {
      const HeapMeter meter;
      Result<Content> made = make_(shared);
      if (!made && !made.error().Permanent()) return made.error();
      // After an interrupt the result may be incomplete.
      CTXFS_TRY(shared.Check());
      BlockCache::Lease lease = CTXFS_TRY(shared.cache().Lend(meter.bytes()));
      kept_ = std::make_unique<const Result<Content>>(std::move(made));
      lease_ = std::move(lease);
      state_.store(kept_.get());
      return {};
    };
    if (!done()) {
      CTXFS_TRY(context.cache().Once({owner_, 0}, context, done, make));
    }
    return *state_.load();
  }

 private:
  const Make make_;
  mutable BlockCache::Lease lease_;                      // for the memory of
                                                         // kept_
  mutable std::unique_ptr<const Result<Content>> kept_;  // set before state_
  mutable std::atomic<const Result<Content>*> state_ = nullptr;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs
