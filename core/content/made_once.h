// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "core/content/content.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A content that is made at its first use, by one thread for all who wait for
/// it, and then kept. A permanent failure is kept, too: to make a file that
/// turns out to be damaged or over a limit can take long. After any other, the
/// next use tries again.
class MadeOnce {
 public:
  using Make = std::function<Result<Content>(const ReadContext&)>;

  explicit MadeOnce(Make make) : make_(std::move(make)) {}

  Result<Content> Get(const ReadContext& context) const {
    const auto done = [this] { return state_.load() != nullptr; };
    const auto make = [this](const ReadContext& shared) -> Status {
      Result<Content> made = make_(shared);
      if (!made && !made.error().Permanent()) return made.error();
      // What was made under an interrupt may be incomplete.
      if (Status wanted = shared.Check(); !wanted) return wanted;
      kept_ = std::make_unique<const Result<Content>>(std::move(made));
      state_.store(kept_.get());
      return {};
    };
    if (!done()) {
      Status made = context.cache().Once({owner_, 0}, context, done, make);
      if (!made) return made.error();
    }
    return *state_.load();
  }

 private:
  const Make make_;
  mutable std::unique_ptr<const Result<Content>> kept_;  // set before state_
  mutable std::atomic<const Result<Content>*> state_ = nullptr;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs
