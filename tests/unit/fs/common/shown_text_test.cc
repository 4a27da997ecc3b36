// SPDX-License-Identifier: Apache-2.0
#include "fs/common/shown_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "fs/commands/text.h"

namespace ctxfs {
namespace {

/// Sets the variables of the locale, and restores them.
class ShownText : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < std::size(kNames); ++i) {
      const char* const value = std::getenv(kNames[i]);
      before_[i] = value == nullptr ? "" : value;
    }
  }
  void TearDown() override {
    for (size_t i = 0; i < std::size(kNames); ++i) {
      ::setenv(kNames[i], before_[i].c_str(), 1);
    }
  }

  static void SetLocale(const char* all, const char* ctype, const char* lang) {
    ::setenv("LC_ALL", all, 1);
    ::setenv("LC_CTYPE", ctype, 1);
    ::setenv("LANG", lang, 1);
  }

 private:
  static constexpr const char* kNames[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  std::string before_[3];
};

TEST_F(ShownText, Item28_7_TheFirstVariableOfTheLocaleDecides) {
  SetLocale("", "", "");
  EXPECT_EQ(LocaleCharset(), Charset::kAscii);
  SetLocale("", "", "de_DE.UTF-8");
  EXPECT_EQ(LocaleCharset(), Charset::kUtf8);
  SetLocale("", "C", "de_DE.UTF-8");
  EXPECT_EQ(LocaleCharset(), Charset::kAscii);
  SetLocale("C.utf8", "C", "");
  EXPECT_EQ(LocaleCharset(), Charset::kUtf8);
  SetLocale("", "ca_ES.UTF-8@valencia", "C");
  EXPECT_EQ(LocaleCharset(), Charset::kUtf8);
  SetLocale("en_US", "", "");
  EXPECT_EQ(LocaleCharset(), Charset::kAscii);
}

TEST_F(ShownText, Item28_7_NamesAreShownInTheLocale) {
  SetLocale("C.UTF-8", "", "");
  EXPECT_EQ(ShownName("gr\xC3\xBC\xC3\x9F\\e"), "gr\xC3\xBC\xC3\x9F\\x5ce");
  EXPECT_EQ(ctxfs::ShownText("'gr\xC3\xBC\\x1b'"), "'gr\xC3\xBC\\x1b'");
  SetLocale("C", "", "");
  EXPECT_EQ(ShownName("gr\xC3\xBC"), "gr\\xc3\\xbc");
  EXPECT_EQ(ctxfs::ShownText("gr\xC3\xBC\x1b"), "gr\\xc3\\xbc\\x1b");
}

TEST(ShortSize, Item28_10_HasTheUnitsOfSort) {
  EXPECT_EQ(ShortSize(0), "0");
  EXPECT_EQ(ShortSize(1023), "1023");
  EXPECT_EQ(ShortSize(3891), "3.8K");
  EXPECT_EQ(ShortSize(uint64_t{5} << 30), "5.0G");
}

}  // namespace
}  // namespace ctxfs
