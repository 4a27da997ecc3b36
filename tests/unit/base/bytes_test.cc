// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace ctxfs {
namespace {

constexpr uint64_t kMax = UINT64_MAX;

TEST(InBounds, HoldsAtTheEdgesAndNeverWraps) {
  struct Case {
    uint64_t offset, length, size;
    bool within;
  };
  constexpr Case kCases[] = {
      {0, 0, 0, true},
      {0, 1, 0, false},
      {0, 10, 10, true},
      {0, 11, 10, false},
      {10, 0, 10, true},
      {10, 1, 10, false},
      {11, 0, 10, false},
      {9, 1, 10, true},
      {9, 2, 10, false},
      {kMax, 0, kMax, true},
      {kMax, 1, kMax, false},
      {kMax - 7, 7, kMax, true},
      {kMax - 7, 8, kMax, false},
      {kMax - 7, 16, 100, false},
      {16, kMax - 15, 100, false},
      {1, kMax, kMax, false},
      {0, kMax, kMax, true},
      {kMax, kMax, kMax, false},
      {1, kMax, 0, false},
      {kMax, 1, 0, false},
  };
  for (const Case& c : kCases) {
    EXPECT_EQ(InBounds(c.offset, c.length, c.size), c.within)
        << c.offset << " + " << c.length << " in " << c.size;
  }
}

TEST(CheckedArithmetic, GivesNothingWhereItWouldWrap) {
  EXPECT_EQ(CheckedAdd(kMax - 1, 1), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 0), kMax);
  EXPECT_EQ(CheckedAdd(kMax, 1), std::nullopt);
  EXPECT_EQ(CheckedAdd(kMax, kMax), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 1), kMax);
  EXPECT_EQ(CheckedMul(kMax, 0), 0U);
  EXPECT_EQ(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 31),
            uint64_t{1} << 63);
  EXPECT_EQ(CheckedMul(uint64_t{1} << 32, uint64_t{1} << 32), std::nullopt);
  EXPECT_EQ(CheckedMul(kMax, 2), std::nullopt);
}

TEST(LoadLe, PutsTheFirstByteLowest) {
  const Bytes bytes = AsBytes("\x01\x02\x03\x04\x05\x06\x07\xf8");
  EXPECT_EQ(LoadLe<uint8_t>(bytes.data()), 0x01);
  EXPECT_EQ(LoadLe<uint16_t>(bytes.data()), 0x0201);
  EXPECT_EQ(LoadLe<uint32_t>(bytes.data()), 0x04030201U);
  EXPECT_EQ(LoadLe<uint64_t>(bytes.data()), 0xf807060504030201U);
  EXPECT_EQ(LoadLe<uint16_t>(bytes.data() + 6), 0xf807);
}

TEST(ByteReader, ReadsFieldsInOrder) {
  const std::string bytes(
      "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
      "abc!",
      19);
  ByteReader in(AsBytes(bytes), 1000);
  EXPECT_EQ(in.offset(), 1000U);
  EXPECT_EQ(in.U8(), 0x01);
  EXPECT_EQ(in.U16(), 0x0302);
  EXPECT_EQ(in.offset(), 1003U);
  EXPECT_EQ(in.U32(), 0x07060504U);
  EXPECT_EQ(in.U64(), 0x0f0e0d0c0b0a0908U);
  EXPECT_EQ(AsText(in.Take(3)), "abc");
  EXPECT_EQ(in.remaining(), 1U);
  in.Skip(1);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0U);
  EXPECT_EQ(in.offset(), 1019U);
  EXPECT_EQ(in.Take(0).size(), 0U);
  EXPECT_TRUE(in.ok()) << "nothing is always there";
}

TEST(ByteReader, FailsForGoodAtTheFirstShortField) {
  ByteReader in(AsBytes("abc"), 7);
  EXPECT_EQ(in.U8(), 'a');
  EXPECT_EQ(in.U32(), 0U);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.offset(), 8U) << "it stays where the short field starts";
  // Two bytes are left, yet none of them may come out any more.
  EXPECT_EQ(in.U8(), 0);
  EXPECT_EQ(in.U16(), 0);
  EXPECT_EQ(in.Take(1).size(), 0U);
  EXPECT_EQ(in.Take(0).size(), 0U);
  in.Skip(0);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.offset(), 8U);
  EXPECT_EQ(in.remaining(), 2U);
}

TEST(ByteReader, RefusesLengthsNearTheTopOfTheRange) {
  for (const uint64_t length : {uint64_t{4}, kMax, kMax - 2}) {
    ByteReader in(AsBytes("abc"));
    in.Skip(1);
    EXPECT_EQ(in.Take(length).size(), 0U);
    EXPECT_FALSE(in.ok()) << length;
  }
}

TEST(ByteReader, EachWidthFailsOnOneByteTooFew) {
  for (size_t have = 0; have < 8; ++have) {
    const std::string bytes(have, 'x');
    ByteReader u64(AsBytes(bytes));
    EXPECT_EQ(u64.U64(), 0U);
    EXPECT_FALSE(u64.ok());
    ByteReader u32(AsBytes(bytes));
    (void)u32.U32();
    EXPECT_EQ(u32.ok(), have >= 4);
    ByteReader u16(AsBytes(bytes));
    (void)u16.U16();
    EXPECT_EQ(u16.ok(), have >= 2);
    ByteReader u8(AsBytes(bytes));
    (void)u8.U8();
    EXPECT_EQ(u8.ok(), have >= 1);
  }
}

TEST(Buffer, OwnsItsBytesAcrossAMove) {
  Buffer buffer(4);
  ASSERT_EQ(buffer.size(), 4U);
  for (std::byte& b : buffer.span()) b = std::byte{0x5A};
  const Buffer moved = std::move(buffer);
  EXPECT_EQ(AsText(moved.span()), "ZZZZ");
  EXPECT_EQ(Buffer().size(), 0U);
  EXPECT_TRUE(Buffer(0).span().empty());
}

TEST(AsText, ReturnsWhatAsBytesWasGiven) {
  const std::string text("a\0\xff", 3);
  EXPECT_EQ(AsText(AsBytes(text)), text);
  EXPECT_EQ(AsText(Bytes()), "");
}

TEST(ByteReader, Uvarints) {
  const auto read = [](const std::string& bytes) {
    ByteReader in(AsBytes(bytes));
    const uint64_t value = in.Uvarint();
    return std::pair(value, in.ok() && in.remaining() == 0);
  };
  using Read = std::pair<uint64_t, bool>;
  EXPECT_EQ(read(std::string(1, '\0')), Read(0, true));
  EXPECT_EQ(read("\x7F"), Read(127, true));
  EXPECT_EQ(read("\x80\x01"), Read(128, true));
  EXPECT_EQ(read("\xE5\x8E\x26"), Read(624485, true));
  // The tenth byte has room for one bit, and there is no eleventh.
  EXPECT_EQ(read(std::string(9, '\xFF') + "\x01"), Read(kMax, true));
  EXPECT_EQ(read(std::string(9, '\xFF') + "\x02"), Read(0, false));
  EXPECT_EQ(read(std::string(10, '\x80') + "\x01"), Read(0, false));
  // Cut short: nothing, not what came before.
  EXPECT_EQ(read("\xFF\xFF"), Read(0, false));
  EXPECT_EQ(read(""), Read(0, false));
}

}  // namespace
}  // namespace ctxfs
