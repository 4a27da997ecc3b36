// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/heap/heap_meter.h"
#include "core/base/interrupt.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace ctxfs {

namespace limits {

/// Default of -o index= for a mount of a single container: the maximum heap, in
/// bytes, of all open containers. Each call of OpenContainer has this bound,
/// too.
constexpr uint64_t kOpenBytes = 2 * kGiB;
/// Bytes of heap that work may take without waiting for its turn (WithinCache,
/// Admission).
constexpr uint64_t kSmallWorkBytes = kMiB;

}  // namespace limits

/// Bounds the heap that work of this thread may take, as HeapMeter counts it.
/// Memory is counted as it is allocated, and compared with the bound when the
/// work checks for an interrupt (AllowedWork). So an interruptible parser is
/// bounded, too, whatever it allocates.
///
/// Allowances nest: inner work is bounded by all of them. An allowance must be
/// on the stack of the thread that it bounds.
class HeapAllowance {
 public:
  /// The error for exceeding the bound: `code` (kLimit: with EFBIG), and the
  /// option that sets the bound.
  struct Refusal {
    Code code;
    const char* option;
  };

  HeapAllowance(uint64_t most, const Refusal& refusal);
  virtual ~HeapAllowance() { thread_heap_allowance = outer_; }
  HeapAllowance(const HeapAllowance&) = delete;
  HeapAllowance& operator=(const HeapAllowance&) = delete;

  /// Returns whether a check has failed because the bound was exceeded. The
  /// result of the work is then incomplete.
  bool exceeded() const { return exceeded_; }

  /// Fails if this thread exceeds or has exceeded an allowance, with the error
  /// of the outermost such allowance.
  static Status Check() { return Admit(0); }

  /// Like Check, before `bytes` are allocated in one piece.
  static Status Admit(uint64_t bytes) {
    const HeapAllowance* const current = thread_heap_allowance;
    if (current == nullptr || Covers(current->end_, bytes)) return {};
    return Extend(bytes);
  }

 protected:
  /// Called when the work needs `bytes` more than the bound. Returns by how
  /// many bytes the bound grows.
  virtual uint64_t Grow(uint64_t /*bytes*/) { return 0; }
  virtual Refusal refusal() const { return refusal_; }

 private:
  static bool Covers(int64_t end, uint64_t bytes) {
    return thread_heap_bytes <= end &&
           bytes <= static_cast<uint64_t>(end - thread_heap_bytes);
  }
  /// The slow path of Admit: lets allowances grow, and finds the one that
  /// refuses.
  static Status Extend(uint64_t bytes);
  /// Whether this allowance alone covers `bytes` more.
  bool Allows(uint64_t bytes);

  HeapAllowance* const outer_;
  const Refusal refusal_;
  const int64_t start_ = thread_heap_bytes;
  uint64_t most_;
  int64_t end_;  // highest thread_heap_bytes that this and outer ones allow
  bool exceeded_ = false;
};

/// Fails unless the HeapAllowance admits the memory to append `more` elements.
/// A full vector or string doubles its capacity, and its old and new memory
/// exist at once. Must be called before elements are appended.
template <typename Vector>
Status AdmitGrowth(const Vector& vector, size_t more = 1) {
  if (more <= vector.capacity() - vector.size()) return {};
  return HeapAllowance::Admit(
      std::max(2 * vector.capacity(), vector.size() + more) *
      sizeof(typename Vector::value_type));
}

/// Appends `more`. Fails if the HeapAllowance does not admit the memory.
inline Status AppendAdmitted(std::string& text, std::string_view more) {
  CTXFS_TRY(AdmitGrowth(text, more.size()));
  text += more;
  return {};
}

/// Interrupts work like `request`, and also when the work exceeds its
/// HeapAllowance: the innermost one at the construction of this object. While
/// another allowance or an UnmeteredHeap is innermost, this object ignores the
/// heap, so inner work needs an AllowedWork of its own.
class AllowedWork final : public Interrupt {
 public:
  explicit AllowedWork(const Interrupt& request) : request_(request) {}

  void AddListener(InterruptListener& one) const override {
    request_.AddListener(one);
  }
  void RemoveListener(InterruptListener& one) const override {
    request_.RemoveListener(one);
  }
  Clock::time_point AskAgainAt() const override {
    return request_.AskAgainAt();
  }

  bool interrupted() const override {
    return request_.interrupted() ||
           (thread_heap_allowance == allowance_ && !HeapAllowance::Check());
  }
  bool MayTake(uint64_t bytes) const override {
    return request_.MayTake(bytes);
  }

 private:
  const Interrupt& request_;
  const HeapAllowance* const allowance_ = thread_heap_allowance;
};

}  // namespace ctxfs
