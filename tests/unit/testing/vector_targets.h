// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/codec/numbers/vector_targets.h"
//
#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace ctxfs {

/// Calls `check` once for each set of instructions that this processor has and
/// that kernels were compiled for; the kernels of libctxfs then use it.
template <typename Check>
void WithEachVectorTarget(const Check& check) {
  const auto choose = [](int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);  // 0: those of the processor
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  };
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    choose(target);
    check();
  }
  choose(0);
}

}  // namespace ctxfs
