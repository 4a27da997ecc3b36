// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <set>
#include <utility>

namespace ctxfs::torch {

/// Stores equal values once, so that many tensors can share a value.
template <typename T>
class SharedValues {
 public:
  std::shared_ptr<const T> Share(T value) {
    const auto at = values_.lower_bound(value);
    if (at != values_.end() && **at == value) return *at;
    return *values_.insert(at, std::make_shared<const T>(std::move(value)));
  }

 private:
  using Pointer = std::shared_ptr<const T>;
  struct Less {
    using is_transparent = void;
    bool operator()(const Pointer& a, const Pointer& b) const {
      return *a < *b;
    }
    bool operator()(const Pointer& a, const T& b) const { return *a < b; }
    bool operator()(const T& a, const Pointer& b) const { return a < *b; }
  };

  std::set<Pointer, Less> values_;
};

}  // namespace ctxfs::torch
