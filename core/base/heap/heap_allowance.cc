// SPDX-License-Identifier: Apache-2.0
#include "core/base/heap/heap_allowance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace ctxfs {
namespace {

// More bytes than any process has. The sum of two such numbers does not
// overflow.
constexpr uint64_t kAnything = uint64_t{1} << 60;

}  // namespace

HeapAllowance::HeapAllowance(uint64_t most, const Refusal& refusal)
    : outer_(thread_heap_allowance),
      refusal_(refusal),
      most_(std::min(most, kAnything)),
      end_(start_ + static_cast<int64_t>(most_)) {
  if (outer_ != nullptr) end_ = std::min(end_, outer_->end_);
  thread_heap_allowance = this;
}

bool HeapAllowance::Allows(uint64_t bytes) {
  if (exceeded_) return false;
  bytes = std::min(bytes, kAnything);
  const int64_t needed =
      thread_heap_bytes - start_ + static_cast<int64_t>(bytes);
  if (needed <= static_cast<int64_t>(most_)) return true;
  most_ += std::min(Grow(static_cast<uint64_t>(needed) - most_), kAnything);
  exceeded_ = needed > static_cast<int64_t>(most_);
  return !exceeded_;
}

Status HeapAllowance::Extend(uint64_t bytes) {
  HeapAllowance* const current = thread_heap_allowance;
  const HeapAllowance* refusing = nullptr;
  int64_t end = std::numeric_limits<int64_t>::max();
  for (HeapAllowance* one = current; one != nullptr; one = one->outer_) {
    if (!one->Allows(bytes)) {
      refusing = one;
      one->end_ = std::numeric_limits<int64_t>::min();
    }
    end = std::min(end, one->start_ + static_cast<int64_t>(one->most_));
  }
  current->end_ =
      refusing == nullptr ? end : std::numeric_limits<int64_t>::min();
  if (refusing == nullptr) return {};
  const Refusal refusal = refusing->refusal();
  return Error{refusal.code,
               fmt::format("takes more than {} bytes of memory (see -o {})",
                           refusing->most_, refusal.option),
               kNoOffset, refusal.code == Code::kLimit ? EFBIG : 0};
}

}  // namespace ctxfs
