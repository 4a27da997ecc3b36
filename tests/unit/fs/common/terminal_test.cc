// SPDX-License-Identifier: Apache-2.0
#include "fs/common/terminal.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace ctxfs {
namespace {

const Terminal kPlain(false, false, 80);
const Terminal kColours(true, true, 80);

TEST(Terminal, PaintsOnlyWithColours) {
  EXPECT_EQ(kPlain.Paint(Colour::kRed, "x"), "x");
  EXPECT_EQ(kColours.Paint(Colour::kRed, "x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(kColours.Paint(Colour::kNone, "x"), "x");
}

TEST(Terminal, IsNotAFile) {
  std::FILE* const file = std::tmpfile();
  EXPECT_FALSE(Terminal::Of(file).is_terminal());
  EXPECT_EQ(Terminal::Of(file).Paint(Colour::kRed, "x"), "x");
  EXPECT_EQ(Terminal::Of(file).width(), 80U);
  std::fclose(file);
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(DisplayWidth(""), 0U);
  EXPECT_EQ(DisplayWidth("abc"), 3U);
  EXPECT_EQ(DisplayWidth("\xC3\xA4\xC3\xB6"), 2U);
}

TEST(TextTable, AlignsColumns) {
  TextTable table({"name", "size"}, {1});
  EXPECT_TRUE(table.empty());
  table.Add({"a", "1000"});
  table.Add({"\xC3\xA4longer", "1"});
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.Aligned(kPlain, "> "),
            "> name     size\n"
            "> a        1000\n"
            "> \xC3\xA4longer     1\n");
}

TEST(TextTable, EndsNoLineWithSpaces) {
  TextTable table({"a", "b"}, {});
  table.Add({"long", ""});
  EXPECT_EQ(table.Aligned(kPlain, ""), "a     b\nlong\n");
}

TEST(TextTable, SeparatesWithTabsForScripts) {
  TextTable table({"name", "size"}, {1});
  table.Add({"a b", "1"});
  table.Add({"", "2"});
  EXPECT_EQ(table.Separated(), "a b\t1\n\t2\n");
}

TEST(InColumns, FillsTheWidthDownwards) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  EXPECT_EQ(InColumns(names, 7, kPlain), "a  c  e\nb  d\n");
  EXPECT_EQ(InColumns(names, 1, kPlain), "a\nb\nc\nd\ne\n");
  EXPECT_EQ(InColumns(names, 100, kPlain), "a  b  c  d  e\n");
  EXPECT_EQ(InColumns({}, 80, kPlain), "");
  EXPECT_EQ(InColumns({"dir/", "f"}, 80, kColours), "\x1b[34mdir/\x1b[0m  f\n");
}

}  // namespace
}  // namespace ctxfs
