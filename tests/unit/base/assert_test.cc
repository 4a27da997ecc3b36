// SPDX-License-Identifier: Apache-2.0
#include "core/base/assert.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

#ifdef _GLIBCXX_ASSERTIONS

TEST(AssertDeathTest, Item42_8_EndsTheProcessAndNamesTheCondition) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int two = 2;
  CTXFS_ASSERT(two == 2);
  EXPECT_DEATH(CTXFS_ASSERT(two == 3),
               "assert_test.cc:[0-9]+: does not hold: two == 3");
}

#else

TEST(Assert, Item42_8_EvaluatesNothingInARelease) {
  int evaluated = 0;
  CTXFS_ASSERT(++evaluated == 0);
  EXPECT_EQ(evaluated, 0);
}

#endif

}  // namespace
}  // namespace ctxfs
