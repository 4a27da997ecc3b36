// SPDX-License-Identifier: Apache-2.0
#include "core/io/window_reader.h"

#include <algorithm>

#include "core/io/io_error.h"

namespace ctxfs {
namespace {

constexpr size_t kLeast = 512;
constexpr size_t kLargest = size_t{256} * 1024;
// A header within this distance of the last one is cheaper to read along with
// it than by a pread of its own.
constexpr uint64_t kClose = uint64_t{16} * 1024;

}  // namespace

void WindowReader::Adapt(uint64_t offset) {
  const uint64_t from = start_ + used_;
  const bool close = filled_ > 0 && offset >= from && offset - from <= kClose;
  prefetcher_ = close ? std::min(2 * prefetcher_, kLargest) : kLeast;
}

Result<Bytes> WindowReader::Read(uint64_t offset, size_t length) {
  if (!InBounds(offset, length, source_.size())) return PastTheEnd(offset);
  Adapt(offset);
  const uint64_t size = std::min<uint64_t>(source_.size() - offset,
                                           std::max(prefetcher_, length));
  if (window_.size() < size) {
    window_ = Buffer(std::max(static_cast<size_t>(size), kMost));
  }
  filled_ = 0;
  const MutableBytes into = window_.span().first(static_cast<size_t>(size));
  if (Status read = source_.ReadAt(offset, into); !read) return read.error();
  start_ = offset;
  filled_ = size;
  used_ = length;
  return Bytes(into).first(length);
}

}  // namespace ctxfs
