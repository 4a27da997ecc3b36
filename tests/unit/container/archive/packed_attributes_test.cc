// SPDX-License-Identifier: Apache-2.0
#include "core/container/archive/packed_attributes.h"

#include <gtest/gtest.h>

namespace ctxfs {
namespace {

TEST(PackedAttributes, Item41_8_HaveNothingAtFirst) {
  const PackedAttributes attributes;
  EXPECT_EQ(attributes.mtime(), std::nullopt);
  EXPECT_EQ(attributes.mode(), std::nullopt);
}

TEST(PackedAttributes, Item41_8_KeepTimesAndPermissionBits) {
  constexpr int64_t kEnd = int64_t{1} << 51;
  for (const int64_t seconds : {int64_t{0}, int64_t{-1}, kEnd - 1, -kEnd}) {
    PackedAttributes attributes;
    attributes.SetMode(0104755);
    attributes.SetMtime(5, /*local=*/true);
    attributes.SetMtime(seconds);
    EXPECT_EQ(attributes.mtime(), seconds);
    EXPECT_EQ(attributes.mode(), 0755);
    EXPECT_FALSE(attributes.is_local());
    attributes.SetMode(0);
    EXPECT_EQ(attributes.mtime(), seconds);
    EXPECT_EQ(attributes.mode(), 0);
  }
}

TEST(PackedAttributes, Item41_8_LeaveOutTimesThatDoNotFit) {
  PackedAttributes attributes;
  attributes.SetMtime(int64_t{1} << 51);
  attributes.SetMtime(INT64_MIN);
  EXPECT_EQ(attributes.mtime(), std::nullopt);
  attributes.SetMtime(7, /*local=*/true);
  EXPECT_TRUE(attributes.is_local());
}

}  // namespace
}  // namespace ctxfs
