// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "core/codec/numbers/vector_level.h"

namespace ctxfs {

/// Calls `check` once for each set of instructions that this processor has and
/// that kernels were compiled for; the kernels of libctxfs then use it.
template <typename Check>
void WithEachVectorTarget(const Check& check) {
  const size_t best = VectorLevel();
  for (size_t level = 0; level <= best; ++level) {
    SCOPED_TRACE(level);
    SetVectorLevel(level);
    check();
  }
}

}  // namespace ctxfs
