// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/ahead_budget.h"

#include <algorithm>
#include <utility>

namespace ctxfs::remote {
namespace {

using limits::kKiB;
using limits::kMiB;
using std::chrono::microseconds;

constexpr uint64_t kSecond = 1'000'000;  // microseconds
// A rate is measured over at least this time and this many bytes. A pause
// between replies begins a new measurement.
constexpr microseconds kInterval(50'000);
constexpr uint64_t kMinMeasured = kMiB;
constexpr std::chrono::seconds kPause(1);
// Bytes to prefetch for a reader that begins to read sequentially. More than
// the maximum would take longer than the round trip that it saves, and would be
// fetched in vain for a reader that stops.
constexpr uint64_t kMinFirst = 128 * kKiB;
constexpr uint64_t kMaxFirst = 2 * kMiB;
// Bytes to prefetch for all readers, at least: they keep eight connections to a
// near server busy.
constexpr uint64_t kMinWhole = 32 * kMiB;
// The minimum share of a reader. Fewer bytes are not worth a request.
constexpr uint64_t kMinShare = 256 * kKiB;
// Bytes per second: assumed before the first measurement, and the maximum.
constexpr uint64_t kAssumedRate = 100 * kMiB;
constexpr uint64_t kMaxRate = 100 * limits::kGiB;

}  // namespace

void AheadBudget::NoteReply(uint64_t first_us, uint64_t bytes,
                            Clock::time_point now) {
  if (first_us != 0) {
    least_us_ = std::min(least_us_, first_us);
    if (++replies_ == kReplies) {
      replies_ = 0;
      least_before_us_ = std::exchange(least_us_, UINT64_MAX);
    }
  }
  if (std::exchange(last_, now) + kPause < now) {
    since_ = now;
    bytes_ = 0;
    return;
  }
  bytes_ += bytes;
  const auto passed = std::chrono::duration_cast<microseconds>(now - since_);
  if (passed < kInterval || bytes_ < kMinMeasured) return;
  const uint64_t rate =
      bytes_ * kSecond / static_cast<uint64_t>(passed.count());
  bytes_per_second_ = std::max(rate, (7 * bytes_per_second_ + rate) / 8);
  since_ = now;
  bytes_ = 0;
}

uint64_t AheadBudget::BytesOnTheWay() const {
  const uint64_t us = std::min(least_us_, least_before_us_);
  if (us == UINT64_MAX) return 0;
  const uint64_t rate =
      bytes_per_second_ == 0 ? kAssumedRate : bytes_per_second_;
  return std::min(us, kSecond) * std::min(rate, kMaxRate) / kSecond;
}

bool AheadBudget::IsActive(uint64_t reader, Clock::time_point now) const {
  return std::ranges::any_of(readers_, [&](const Reader& one) {
    return one.number == reader && one.seen + kActive >= now;
  });
}

AheadBudget::Window AheadBudget::Share(uint64_t* reader,
                                       Clock::time_point now) {
  if (*reader == 0) *reader = ++numbers_;
  std::erase_if(readers_, [&](const Reader& one) {
    return one.number == *reader || one.seen + kActive < now;
  });
  if (readers_.size() < kMaxReaders) readers_.push_back({*reader, now});
  const uint64_t on_the_way = BytesOnTheWay();
  const uint64_t whole = std::clamp(2 * on_the_way, kMinWhole, kMaxWhole);
  const uint64_t share = std::max(whole / readers_.size(), kMinShare);
  const uint64_t first = std::clamp(on_the_way, kMinFirst, kMaxFirst);
  return {.first = std::min(first, share), .most = share};
}

}  // namespace ctxfs::remote
