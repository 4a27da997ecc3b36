// SPDX-License-Identifier: Apache-2.0
#include "core/io/window_reader.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr size_t kLeast = 512;
constexpr size_t kLargest = size_t{256} * 1024;
// Within this distance of the last header, reading ahead is cheaper than
// another pread.
constexpr uint64_t kClose = uint64_t{16} * 1024;

// A remote source fetches headers together if they are less than this apart.
constexpr uint64_t kStrewn = uint64_t{64} * 1024;
// Headers announced at a time.
constexpr uint64_t kAnnounced = 32;

}  // namespace

void WindowReader::Announce(uint64_t offset) {
  const uint64_t before = std::exchange(distance_, offset - far_);
  far_ = offset;
  if (distance_ != before || distance_ < kStrewn) return;
  // Announces more headers once half of the announced ones are read, so that
  // the reader waits for none.
  if (announced_ > offset && announced_ - offset > kAnnounced / 2 * distance_) {
    return;
  }
  uint64_t at = std::max(announced_, offset);
  std::array<SourceRange, kAnnounced> ranges{};
  size_t count = 0;
  while (count < ranges.size() && source_.size() - at > distance_ &&
         at - offset < kAnnounced * distance_) {
    at += distance_;
    ranges[count++] = {at, kLeast};
  }
  announced_ = at;
  source_.Prefetch(std::span(ranges).first(count));
}

void WindowReader::Adapt(uint64_t offset) {
  const uint64_t from = start_ + used_;
  const bool close = filled_ > 0 && offset >= from && offset - from <= kClose;
  if (!close) Announce(offset);
  next_size_ = close ? std::min(2 * next_size_, kLargest) : kLeast;
}

Result<Bytes> WindowReader::Read(uint64_t offset, size_t length) {
  if (!InBounds(offset, length, source_.size())) return PastTheEnd(offset);
  Adapt(offset);
  const uint64_t size =
      std::min<uint64_t>(source_.size() - offset, std::max(next_size_, length));
  if (window_.size() < size) {
    window_ = Buffer(std::max(static_cast<size_t>(size), kMax));
  }
  filled_ = 0;
  const MutableBytes into = window_.span().first(static_cast<size_t>(size));
  CTXFS_TRY(source_.ReadAt(offset, into, request_));
  start_ = offset;
  filled_ = size;
  used_ = length;
  return Bytes(into).first(length);
}

}  // namespace ctxfs
