// SPDX-License-Identifier: Apache-2.0
#include "fs/log/token_bucket.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

int TakeAll(TokenBucket& bucket, TokenBucket::Clock::time_point at) {
  int taken = 0;
  while (taken < 1'000'000 && bucket.Take(at)) ++taken;
  return taken;
}

TEST(TokenBucket, GivesTheBurstAtOnceAndThenTheRate) {
  const TokenBucket::Clock::time_point start{};
  TokenBucket bucket(100, 10, start);
  EXPECT_EQ(TakeAll(bucket, start), 100);
  EXPECT_EQ(TakeAll(bucket, start + milliseconds(50)), 0);
  EXPECT_EQ(TakeAll(bucket, start + milliseconds(150)), 1);
  EXPECT_EQ(TakeAll(bucket, start + seconds(2)), 19);  // half a token was left
}

TEST(TokenBucket, NeverHoldsMoreThanTheBurst) {
  const TokenBucket::Clock::time_point start{};
  TokenBucket bucket(100, 10, start);
  EXPECT_EQ(TakeAll(bucket, start + seconds(1'000'000)), 100);
}

}  // namespace
}  // namespace ctxfs
