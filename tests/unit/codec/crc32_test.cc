// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/codec/checksum.h"

namespace ctxfs {
namespace {

TEST(Crc32, IsThatOfZlib) {
  EXPECT_EQ(Crc32(AsBytes("123456789")), 0xCBF43926U);
  EXPECT_EQ(Crc32({}), 0U);
  EXPECT_EQ(Crc32(AsBytes("6789"), Crc32(AsBytes("12345"))), 0xCBF43926U);
}

TEST(Crc32, IsAKindOfChecksum) {
  const Checksum sum{ChecksumKind::kCrc32, 0xCBF43926U};
  EXPECT_EQ(sum.Text(), "crc32:cbf43926");
  EXPECT_TRUE(sum.Matches(AsBytes("123456789")));
  EXPECT_FALSE(sum.Matches(AsBytes("123456780")));
  Checksummer pieces(ChecksumKind::kCrc32);
  pieces.Update(AsBytes("1234"));
  pieces.Update(AsBytes("56789"));
  EXPECT_TRUE(pieces.Matches(sum));
}

}  // namespace
}  // namespace ctxfs
