// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ctxfs {

/// A list in pieces of 2^kShift values: one that grows is not moved, and never
/// takes the memory of the old and the new at once, as a vector does. A short
/// one takes what a vector takes.
template <typename T, unsigned kShift>
class Pieces {
 public:
  static constexpr size_t kPiece = size_t{1} << kShift;

  /// One more than the last index.
  size_t size() const {
    return pieces_.empty()
               ? 0
               : (pieces_.size() - 1) * kPiece + pieces_.back().size();
  }

  T& operator[](size_t i) { return pieces_[i >> kShift][i & (kPiece - 1)]; }
  const T& operator[](size_t i) const {
    return pieces_[i >> kShift][i & (kPiece - 1)];
  }

  void push_back(T value) {
    Make(1);
    pieces_.back().push_back(std::move(value));
  }

  /// Appends `values`, kPiece at the most, so that they lie together; the index
  /// of the first. Indexes that end a piece may be passed over for that.
  size_t Append(std::span<const T> values) {
    Make(values.size());
    const size_t at = size();
    pieces_.back().insert(pieces_.back().end(), values.begin(), values.end());
    return at;
  }

  /// Values that were appended together, or less of them.
  std::span<const T> Together(size_t at, size_t count) const {
    if (count == 0) return {};
    return {&(*this)[at], count};
  }

  void shrink_to_fit() {
    if (!pieces_.empty()) pieces_.back().shrink_to_fit();
  }

 private:
  /// Sees to it that `room` values fit into the last piece.
  void Make(size_t room) {
    if (!pieces_.empty() && pieces_.back().size() + room <= kPiece) return;
    if (!pieces_.empty()) {
      pieces_.back().resize(kPiece);  // so that indexes tell the piece
    }
    const bool first = pieces_.empty();
    pieces_.emplace_back();
    if (!first) pieces_.back().reserve(kPiece);
  }

  std::vector<std::vector<T>> pieces_;
};

}  // namespace ctxfs
