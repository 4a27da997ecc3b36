// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/mutation/corpus.h"

namespace ctxfs {

enum class Damage { kFlips, kCut, kField, kSplice, kSwap };
constexpr int kDamages = 5;
const char* DamageName(Damage damage);

/// A damaged variant: which golden container, and its files as they are now.
struct Variant {
  const GoldenCase* golden;
  std::string damaged;  // the file that was
  Damage damage;
  MemoryFolder::Bytes files;
};

/// Makes variants from numbers: the same seed and number give the same one, on
/// any machine.
class Mutator {
 public:
  Mutator(const std::vector<GoldenCase>& cases, uint64_t seed)
      : cases_(cases), seed_(seed) {}

  Variant Make(uint64_t number) const;

 private:
  const std::vector<GoldenCase>& cases_;
  uint64_t seed_;
};

}  // namespace ctxfs
