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

/// Finds the signals pending for a thread of another process. The kernel
/// reports that the caller of a request got a signal, but not which one. The
/// request of a dying caller must be cancelled; the request of a caller with a
/// profiler's timer must not. /proc shows the signal, but serving threads
/// cannot read /proc, so a thread that is not confined does.
class SignalWatch final : public Questions {
 public:
  /// Fails if the process is out of descriptors.
  static Result<std::unique_ptr<SignalWatch>> Make();

  /// The pending signals of `thread`, signal N as bit N - 1. Nothing if they
  /// are unknown: `thread` is 0 or not visible from here, or no answer came
  /// within a second.
  std::optional<uint64_t> Pending(uint64_t thread);

  int fd() const override { return threads_.fd(); }
  void Answer() override;

 private:
  explicit SignalWatch(Fd wake) : threads_(std::move(wake)) {}

  QuestionQueue<uint64_t, std::optional<uint64_t>> threads_;
};

}  // namespace ctxfs
