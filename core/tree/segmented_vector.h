// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ctxfs {

/// A list in segments of 2^kShift values. It grows by segments and moves only
/// values of the first one, so unlike a vector it never has all of its old and
/// its new memory at once. The first segment grows like a vector, so a short
/// list takes as much as a vector.
template <typename T, unsigned kShift>
class SegmentedVector {
 public:
  static constexpr size_t kSegment = size_t{1} << kShift;

  /// One more than the last index.
  size_t size() const {
    return segments_.empty()
               ? 0
               : (segments_.size() - 1) * kSegment + segments_.back().size();
  }

  T& operator[](size_t i) { return segments_[i >> kShift][i & (kSegment - 1)]; }
  const T& operator[](size_t i) const {
    return segments_[i >> kShift][i & (kSegment - 1)];
  }

  void push_back(T value) {
    Make(1);
    segments_.back().push_back(std::move(value));
  }

  /// Appends `values`, at most kSegment, to one segment, and returns the index
  /// of the first. May leave indexes at the end of the last segment unused.
  size_t Append(std::span<const T> values) {
    Make(values.size());
    const size_t at = size();
    segments_.back().insert(segments_.back().end(), values.begin(),
                            values.end());
    return at;
  }

  /// Returns `count` values from index `at` on. One Append must have added
  /// them.
  std::span<const T> Together(size_t at, size_t count) const {
    if (count == 0) return {};
    return {&(*this)[at], count};
  }

  void shrink_to_fit() {
    if (!segments_.empty()) segments_.back().shrink_to_fit();
  }

 private:
  /// Makes room for `room` values in the last segment.
  void Make(size_t room) {
    if (!segments_.empty() && segments_.back().size() + room <= kSegment)
      return;
    if (!segments_.empty()) {
      segments_.back().resize(kSegment);  // so that i >> kShift is the segment
    }
    const bool first = segments_.empty();
    segments_.emplace_back();
    if (!first) segments_.back().reserve(kSegment);
  }

  std::vector<std::vector<T>> segments_;
};

}  // namespace ctxfs
