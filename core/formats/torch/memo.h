// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/result.h"
#include "core/base/seed.h"
#include "core/formats/torch/limits.h"

namespace ctxfs::torch {

/// The memo of a pickle. Writers number keys from 0 without gaps: these are in
/// a vector, other keys in a hash table, because a huge key would make a vector
/// huge.
class Memo {
 public:
  size_t size() const { return near_.size() + far_.size(); }
  /// Whether a key is in the vector.
  bool IsNear(uint64_t key) const { return key < near_.size(); }

  /// Fails if there is no memory to set the value of a key.
  Status AdmitPut(uint64_t key) const {
    if (key == near_.size()) return AdmitGrowth(near_);
    const size_t buckets = far_.bucket_count();
    if (IsNear(key) || far_.size() < buckets) return {};
    return HeapAllowance::Admit(2 * buckets * sizeof(void*));
  }

  /// Sets the value of a key. A new key is added to the vector if it is the
  /// next one and the vector has fewer than kMaxNodes keys, else to the table.
  /// Returns false if the table already has `most_far` keys.
  bool Put(uint64_t key, uint32_t value, size_t most_far) {
    if (IsNear(key)) {
      near_[static_cast<size_t>(key)] = value;
    } else if (const auto found = far_.find(key); found != far_.end()) {
      found->second = value;
    } else if (key == near_.size() && near_.size() < kMaxNodes) {
      near_.push_back(value);
    } else if (far_.size() < most_far) {
      far_.emplace(key, value);
    } else {
      return false;
    }
    return true;
  }

  std::optional<uint32_t> Get(uint64_t key) const {
    if (IsNear(key)) return near_[static_cast<size_t>(key)];
    const auto found = far_.find(key);
    if (found == far_.end()) return std::nullopt;
    return found->second;
  }

 private:
  /// Has a random seed, so a pickle cannot choose keys that collide.
  class Hash {
   public:
    Hash() : seed_(RandomSeed()) {}
    size_t operator()(uint64_t key) const noexcept {
      return XXH3_64bits_withSeed(&key, sizeof(key), seed_);
    }

   private:
    uint64_t seed_;
  };

  std::vector<uint32_t> near_;
  std::unordered_map<uint64_t, uint32_t, Hash> far_;
};

}  // namespace ctxfs::torch
