// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/result.h"
#include "core/io/fd.h"
#include "fs/kernel/questions.h"

namespace ctxfs {

/// Tells which signals are pending for a thread of another process. The kernel
/// says that the caller of a request got a signal, but not which one: a caller
/// that is to die must be let go, one with a profiler's timer must not. The
/// answer is in /proc, which the threads that serve may not read; they ask the
/// one that is not confined.
class SignalWatch final : public Questions {
 public:
  /// Fails if the process has no descriptors left.
  static Result<std::unique_ptr<SignalWatch>> Make();

  /// The pending signals of `thread`, signal N as bit N - 1. Nothing if they
  /// cannot be told: for 0, a thread that cannot be seen from here, or when
  /// nobody answers within a second.
  std::optional<uint64_t> Pending(uint64_t thread);

  int fd() const override { return threads_.fd(); }
  void Answer() override;

 private:
  explicit SignalWatch(Fd wake) : threads_(std::move(wake)) {}

  QuestionQueue<uint64_t, std::optional<uint64_t>> threads_;
};

}  // namespace ctxfs
