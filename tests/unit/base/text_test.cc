// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace ctxfs {
namespace {

/// `point` as UTF-8, even if it is not a valid character.
std::string Utf8Of(uint32_t point) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  const auto tail = [&](unsigned shift) {
    return byte(0x80U | (point >> shift & 0x3FU));
  };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xC0U | point >> 6), tail(0)};
  if (point < 0x10000) return {byte(0xE0U | point >> 12), tail(6), tail(0)};
  return {byte(0xF0U | point >> 18), tail(12), tail(6), tail(0)};
}

TEST(Quote, LeavesPrintableAsciiAndEscapesTheRest) {
  EXPECT_EQ(Quote(""), "''");
  EXPECT_EQ(Quote("signal/rgb 0.5~"), "'signal/rgb 0.5~'");
  EXPECT_EQ(Quote("it's"), "'it\\x27s'");
  EXPECT_EQ(Quote("a\\b"), "'a\\x5cb'");
  EXPECT_EQ(Quote(std::string_view("\0\n\x1b\x7f\xff", 5)),
            "'\\x00\\x0a\\x1b\\x7f\\xff'");
  EXPECT_EQ(Quote("\xC3\xA9"), "'\\xc3\\xa9'");
}

TEST(Quote, CutsAfterTwoHundredBytes) {
  const std::string exact(200, 'x');
  EXPECT_EQ(Quote(exact), "'" + exact + "'");
  EXPECT_EQ(Quote(exact + "y"), "'" + exact + "...'");
  EXPECT_EQ(Quote(std::string(65535, '\n')).size(), 200 * 4 + 5U);
}

TEST(IsUtf8, AcceptsEveryScalarValueAndNoSurrogate) {
  for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(IsUtf8(Utf8Of(point)), !surrogate) << std::hex << point;
  }
  for (const uint32_t point : {0x110000U, 0x13FFFFU, 0x1FFFFFU}) {
    EXPECT_FALSE(IsUtf8(Utf8Of(point))) << std::hex << point;
  }
}

TEST(IsUtf8, RefusesEveryCharacterCutShort) {
  for (const uint32_t point : {0xE9U, 0x20ACU, 0x1F600U}) {
    const std::string whole = Utf8Of(point);
    for (size_t size = 1; size < whole.size(); ++size) {
      EXPECT_FALSE(IsUtf8(whole.substr(0, size)));
      EXPECT_FALSE(IsUtf8(whole.substr(0, size) + "a"));
      EXPECT_FALSE(IsUtf8(whole.substr(0, size) + whole));
    }
    EXPECT_TRUE(IsUtf8("a" + whole + whole + "b"));
  }
}

TEST(IsUtf8, RefusesOverlongFormsAndStrayBytes) {
  for (const std::string_view text :
       {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF",
        "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF", "\x80", "\xBF", "\xF8\x88\x80",
        "\xFC", "\xFE", "\xFF", "a\x80", "\xC3\xC3", "\xC3\x28"}) {
    EXPECT_FALSE(IsUtf8(text)) << Quote(text);
  }
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8(std::string_view("\0\x7f", 2)));
}

TEST(Hex, WritesTwoLowerCaseDigitsAByte) {
  EXPECT_EQ(Hex(""), "");
  EXPECT_EQ(Hex(std::string_view("\0\x09\xAf\xff", 4)), "0009afff");
}

TEST(Base64, PadsTheLastThreeBytes) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64(std::string_view("\xff\xfb\0", 3)), "//sA");
}

}  // namespace
}  // namespace ctxfs
