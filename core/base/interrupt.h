// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/result.h"

namespace ctxfs {

/// Bytes that a codec makes between two checks.
constexpr size_t kBytesPerCheck = size_t{1} << 20;

/// Tells a long computation whether anyone still waits for its result.
class Interrupt {
 public:
  Interrupt() = default;
  virtual ~Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Whether to give up. Once true, stays true. Safe to call from any thread,
  /// and cheap enough to be called once per 64 KiB of work.
  virtual bool interrupted() const = 0;

  /// Returns whether this thread may start work of about `bytes` bytes;
  /// kUnknownWork means waiting for another thread. A thread that has to stay
  /// free starts small work only: if this is false, the request is repeated on
  /// another thread.
  virtual bool MayTake(uint64_t /*bytes*/) const { return true; }
  static constexpr uint64_t kUnknownWork = UINT64_MAX;

  /// kInterrupted if the computation is to give up. A caller that gets this
  /// error returns it and keeps nothing of what it has made so far.
  Status Check() const {
    if (!interrupted()) return {};
    return Error{Code::kInterrupted, "interrupted"};
  }
  /// Like Check, before work of about `bytes` bytes.
  Status CheckFor(uint64_t bytes) const {
    if (MayTake(bytes) && !interrupted()) return {};
    return Error{Code::kInterrupted, "interrupted"};
  }
};

/// For work that always runs to its end.
inline const Interrupt& NeverInterrupted() {
  class Never final : public Interrupt {
   public:
    bool interrupted() const override { return false; }
  };
  static const Never never;
  return never;
}

}  // namespace ctxfs
