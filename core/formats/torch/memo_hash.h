// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <random>

namespace ctxfs::torch {

/// Hashes the keys of a memo, which a pickle may choose, with a random seed: no
/// pickle can choose keys that make a table slow.
class MemoHash {
 public:
  MemoHash() : seed_(std::random_device()()) {}

  size_t operator()(uint64_t key) const {
    return XXH3_64bits_withSeed(&key, sizeof(key), seed_);
  }

 private:
  uint64_t seed_;
};

}  // namespace ctxfs::torch
