// SPDX-License-Identifier: Apache-2.0
#include "core/codec/checksum.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>

#include "tests/unit/testing/compress.h"

namespace ctxfs {
namespace {

/// CRC-32C bit by bit, from its polynomial alone.
uint32_t SlowCrc32c(std::string_view bytes) {
  uint32_t crc = UINT32_MAX;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    }
  }
  return ~crc;
}

uint32_t Crc(std::string_view bytes) { return Crc32c(AsBytes(bytes)); }

TEST(Crc32c, GivesThePublishedValues) {
  // docs/formats/shard.md, sections 10 and 21; RFC 3720, B.4.
  EXPECT_EQ(Crc(""), 0U);
  EXPECT_EQ(Crc("123456789"), 0xE3069283U);
  EXPECT_EQ(Crc("hello"), 0x9A71BB4CU);
  EXPECT_EQ(Crc("hello world"), 3381945770U);
  EXPECT_EQ(Crc("\xde\xad\xbe\xef"), 0xF1DC778EU);
  EXPECT_EQ(Crc(std::string_view("\xca\xfe\xba\xbe\0\1\2\3", 8)), 0xBB7E13B3U);
  EXPECT_EQ(Crc(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc(std::string(32, '\xff')), 0x62A8AB43U);
}

TEST(Crc32c, AgreesWithItsDefinitionAtEveryAlignmentAndLength) {
  const std::string bytes = Noise(600);
  for (size_t at = 0; at < 16; ++at) {
    for (size_t size = 0; size < 300; ++size) {
      const std::string_view piece = std::string_view(bytes).substr(at, size);
      ASSERT_EQ(Crc(piece), SlowCrc32c(piece)) << at << " " << size;
    }
  }
}

TEST(Crc32c, OfPiecesEqualsThatOfTheWhole) {
  const std::string bytes = Noise(100'000);
  const uint32_t whole = Crc(bytes);
  ASSERT_EQ(whole, SlowCrc32c(bytes));
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    Checksummer sum(ChecksumKind::kCrc32c);
    uint32_t crc = 0;
    for (size_t at = 0; at < bytes.size();) {
      const size_t size = random() % 5000;  // also 0, also past the end
      const Bytes piece = AsBytes(std::string_view(bytes).substr(at, size));
      crc = Crc32c(piece, crc);
      sum.Update(piece);
      at += size;
    }
    ASSERT_EQ(crc, whole);
    EXPECT_TRUE(sum.Matches({ChecksumKind::kCrc32c, whole}));
    EXPECT_FALSE(sum.Matches({ChecksumKind::kCrc32c, whole ^ 1U}));
  }
}

TEST(Checksum, MatchesItsBytesAlone) {
  const Checksum hello{ChecksumKind::kCrc32c, 0x9A71BB4C};
  EXPECT_TRUE(static_cast<bool>(hello));
  EXPECT_TRUE(hello.Matches(AsBytes("hello")));
  EXPECT_FALSE(hello.Matches(AsBytes("hellp")));
  EXPECT_FALSE(hello.Matches(AsBytes("")));
  // Zero is a value like any other.
  const Checksum zero{ChecksumKind::kCrc32c, 0};
  EXPECT_TRUE(zero.Matches(Bytes()));
  EXPECT_FALSE(zero.Matches(AsBytes("hello")));
}

TEST(Checksum, OfNoKindMatchesAnything) {
  const Checksum none;
  EXPECT_FALSE(static_cast<bool>(none));
  EXPECT_TRUE(none.Matches(AsBytes("hello")));
  EXPECT_EQ(none.Text(), "");
}

TEST(Checksum, IsWrittenWithAllItsDigits) {
  EXPECT_EQ((Checksum{ChecksumKind::kCrc32c, 0x9A71BB4C}).Text(),
            "crc32c:9a71bb4c");
  EXPECT_EQ((Checksum{ChecksumKind::kCrc32c, 0x2A}).Text(), "crc32c:0000002a");
}

}  // namespace
}  // namespace ctxfs
