// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace ctxfs::model {

/// Random numbers that are the same for the same seed with every C++ library,
/// which std::uniform_int_distribution does not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  /// A number below `end`, which is above 0.
  size_t Below(size_t end) { return static_cast<size_t>(engine_() % end); }
  bool OneIn(size_t n) { return Below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ctxfs::model
