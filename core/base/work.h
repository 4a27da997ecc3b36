// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "core/base/bytes.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace ctxfs {

/// Bounds the work of one request: the bytes that are decoded, computed,
/// rendered as text or scanned for it. The bound grows with the stored bytes,
/// so a container of a few hundred bytes cannot keep a processor busy, whatever
/// sizes it claims. Safe for any number of threads.
class Work {
 public:
  /// At most `most` bytes, for a request to a file of `stored` bytes.
  Work(uint64_t most, uint64_t stored) : most_(most), stored_(stored) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  /// Fails with kLimit and EFBIG if Charge(bytes) would fail; counts nothing.
  Status CheckCharge(uint64_t bytes) const {
    const uint64_t used = used_.load(std::memory_order_relaxed);
    return Fits(bytes, used) ? Status() : TooMuch(bytes, used);
  }

  /// Counts `bytes` before they are produced. If they would exceed the bound,
  /// fails with kLimit and counts none; the caller then produces none. So all
  /// threads of a request together never exceed the bound.
  Status Charge(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (!Fits(bytes, used)) return TooMuch(bytes, used);
    } while (!used_.compare_exchange_weak(used, used + bytes,
                                          std::memory_order_relaxed));
    return {};
  }

 private:
  bool Fits(uint64_t bytes, uint64_t used) const {
    return bytes <= most_ && used <= most_ - bytes;
  }

  Error TooMuch(uint64_t bytes, uint64_t used) const {
    const std::optional<uint64_t> sum = CheckedAdd(used, bytes);
    return {Code::kLimit,
            "needs " + (sum ? std::to_string(*sum) : "more than 2^64") +
                " bytes of work, and a file of " + std::to_string(stored_) +
                " bytes may cause " + std::to_string(most_) +
                " (see -o max_expansion)",
            kNoOffset, EFBIG};
  }

  const uint64_t most_;
  const uint64_t stored_;
  std::atomic<uint64_t> used_ = 0;
};

/// The bound that a mount sets: a constant plus a multiple of the stored bytes.
struct WorkLimit {
  uint64_t base = limits::kWorkBytes;
  uint64_t factor = limits::kWorkFactor;  // 0: no bound

  uint64_t For(uint64_t stored) const {
    if (factor == 0) return UINT64_MAX;
    const uint64_t room = UINT64_MAX - base;
    return base + (stored > room / factor ? room : stored * factor);
  }
  Work On(uint64_t stored) const { return {For(stored), stored}; }
};

}  // namespace ctxfs
