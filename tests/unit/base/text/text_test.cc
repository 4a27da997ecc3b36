// SPDX-License-Identifier: Apache-2.0
#include "core/base/text/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text/count_of.h"
#include "core/base/text/printable.h"

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

TEST(Quote, Item28_7_LeavesUtf8AndEscapesControls) {
  EXPECT_EQ(Quote(""), "''");
  EXPECT_EQ(Quote("signal/rgb 0.5~"), "'signal/rgb 0.5~'");
  EXPECT_EQ(Quote("it's"), "'it\\x27s'");
  EXPECT_EQ(Quote("a\\b"), "'a\\x5cb'");
  EXPECT_EQ(Quote(std::string_view("\0\n\x1b\x7f\xff", 5)),
            "'\\x00\\x0a\\x1b\\x7f\\xff'");
  EXPECT_EQ(Quote("\xC3\xA9"), "'\xC3\xA9'");
  EXPECT_EQ(Quote("\xC3"), "'\\xc3'");
}

TEST(Quote, DoesNotCutACharacter) {
  const std::string most(199, 'x');
  EXPECT_EQ(Quote(most + "\xC3\xA9"), "'" + most + "...'");
  EXPECT_EQ(Quote(std::string(300, '\x80')).size(), 200 * 4 + 5U);
}

TEST(Printable, Item28_18_EscapesWhatActsOnALine) {
  EXPECT_EQ(Printable("it's \\ \xC3\xA9 \xF0\x9F\x99\x82"),
            "it's \\ \xC3\xA9 \xF0\x9F\x99\x82");
  for (uint32_t point = 0; point <= 0x10FFFF; ++point) {
    const bool control = point < 0x20 || (point >= 0x7F && point < 0xA0);
    const bool direction = point == 0x061C || point == 0x200E ||
                           point == 0x200F ||
                           (point >= 0x2028 && point <= 0x202E) ||
                           (point >= 0x2066 && point <= 0x2069);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    const std::string text = Utf8Of(point);
    const bool kept = Printable(text) == text;
    ASSERT_EQ(kept, !(control || direction || surrogate || point == 0xFEFF))
        << std::hex << point;
  }
  EXPECT_EQ(Printable("a\x1b[2J\n"), "a\\x1b[2J\\x0a");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m\x9b\xE2\x80\xAE"),
            "\\xc2\\x9b31m\\x9b\\xe2\\x80\\xae");
  EXPECT_EQ(Printable("\xE2\x82"), "\\xe2\\x82");
  EXPECT_EQ(Printable("\xC3\xA9x", Charset::kAscii), "\\xc3\\xa9x");
}

TEST(PrintableJson, Item28_18_EscapesWhatJsonAllows) {
  EXPECT_EQ(PrintableJson("{\n \"\xC3\xA9\": \"\x7F\xC2\x9B\xE2\x80\xAE\"\n}"),
            "{\n \"\xC3\xA9\": \"\\u007f\\u009b\\u202e\"\n}");
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

TEST(FromBase64, UndoesBase64AndRefusesTheRest) {
  for (const std::string_view text : {"", "f", "fo", "foo", "\xFF\xFE\xFD"}) {
    EXPECT_EQ(FromBase64(Base64(text)), text);
  }
  for (const char* text : {"Zg", "Zg=", "Zg===", "Z===", "=Zg=", "Zg==Zg==",
                           "Zm9v\n", "Zm9-", "Zm9 "}) {
    EXPECT_EQ(FromBase64(text), std::nullopt) << text;
  }
}

TEST(CountOf, Item43_14_HasOneOfOneAndTheirPlurals) {
  EXPECT_EQ(CountOf(1, "file"), "1 file");
  EXPECT_EQ(CountOf(0, "file"), "0 files");
  EXPECT_EQ(CountOf(21, "more fault"), "21 more faults");
  EXPECT_EQ(CountOf(2, "entry"), "2 entries");
  EXPECT_EQ(CountOf(2, "array"), "2 arrays");
}

}  // namespace
}  // namespace ctxfs
