// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// A value that is made at its first use, by one thread for all who wait for
/// it, and then kept. A permanent failure is kept, too: to make a file that
/// turns out to be damaged or over a limit can take long. After any other, the
/// next use tries again.
template <typename T>
class MadeOnce {
 public:
  using Make = std::function<Result<T>(const ReadContext&)>;

  explicit MadeOnce(Make make) : make_(std::move(make)) {}

  /// The value lives as long as this object.
  Result<const T*> Get(const ReadContext& context) const {
    const auto done = [this] { return state_.load() != nullptr; };
    if (!done()) {
      const auto make = [this](const ReadContext& shared) -> Status {
        Result<T> value = make_(shared);
        if (!value && !value.error().Permanent()) return value.error();
        // A value that was made under an interrupt may be incomplete.
        if (Status wanted = shared.Check(); !wanted) return wanted;
        kept_ = std::make_unique<const Result<T>>(std::move(value));
        state_.store(kept_.get());
        return {};
      };
      Status made = context.cache().Once({owner_, 0}, context, done, make);
      if (!made) return std::move(made).error();
    }
    const Result<T>& made = *state_.load();
    if (!made) return made.error();
    return &*made;
  }

 private:
  Make make_;
  mutable std::unique_ptr<const Result<T>> kept_;  // set before state_
  mutable std::atomic<const Result<T>*> state_ = nullptr;
  const uint64_t owner_ = NewOwner();
};

}  // namespace ctxfs
