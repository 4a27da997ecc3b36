// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/compare/diff_printer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ctxfs {
namespace {

TEST(DiffPrinter, Item43_8_TheMiddleOfAWideNameIsLeftOut) {
  EXPECT_EQ(ShortenedInMiddle("short", 5), "short");
  EXPECT_EQ(ShortenedInMiddle("model.layers.0.weight", 11), "mode...ight");
  EXPECT_EQ(ShortenedInMiddle("abcdef", 3), "abc");
  EXPECT_EQ(ShortenedInMiddle("abcdef", 0), "");
  // No character is cut in two.
  EXPECT_EQ(ShortenedInMiddle("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 5),
            "\u00e4...\u00e4");
}

TEST(DiffPrinter, Item43_8_LinesAreWrappedAtSpacesAndLoseNothing) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(WrappedLines("", 5), Lines{""});
  EXPECT_EQ(WrappedLines("ab cd ef", 5), (Lines{"ab cd", "ef"}));
  EXPECT_EQ(WrappedLines("abcdefgh ij", 4), (Lines{"abcd", "efgh", "ij"}));
  EXPECT_EQ(WrappedLines("a bcdefgh", 4), (Lines{"a", "bcde", "fgh"}));
  for (size_t width = 1; width < 12; ++width) {
    for (const std::string& line :
         WrappedLines("one \u00e4\u00e4\u00e4\u00e4 three  four", width)) {
      EXPECT_LE(DisplayWidth(line), width);
    }
  }
}

EntryDifference Changed(const DiffEntry& first, const DiffEntry& second,
                        double relative_l2, uint64_t unlike = 0) {
  EntryDifference one{
      .kind = DiffKind::kChanged, .first = &first, .second = &second};
  one.values.emplace();
  one.values->relative_l2 = relative_l2;
  one.values->unlike = unlike;
  return one;
}

TEST(DiffGroups, Item43_8_TheMostChangedIsFirstAndNaNBeforeIt) {
  std::vector<DiffEntry> entries;
  for (const char* const name : {"a", "b.x", "c", "d"}) {
    entries.push_back({.path = name, .size = 4, .dtype = "f32", .shape = {1}});
  }
  const std::vector<EntryDifference> found = {
      Changed(entries[0], entries[0], 0.1),
      Changed(entries[1], entries[1], 0.2),
      EntryDifference{.kind = DiffKind::kSame,
                      .first = entries.data(),
                      .second = entries.data()},
      EntryDifference{.kind = DiffKind::kRemoved, .first = &entries[2]}};
  const std::vector<DiffGroup> groups = GroupsOf(found);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].front().any().path, "b.x");
  EXPECT_EQ(groups[1].front().any().path, "a");
  EXPECT_EQ(groups[2].kind(), DiffKind::kRemoved);
  EXPECT_EQ(TypeText(groups[0]), "f32 [1]");
  const std::vector<EntryDifference> with_nan = {
      Changed(entries[0], entries[0], 0.1, 1), found[1]};
  const auto unlike = GroupsOf(with_nan);
  EXPECT_EQ(unlike[0].front().any().path, "a");
}

TEST(DiffGroups, Item43_8_ValuesOfAGroupAreThoseOfOneArray) {
  const DiffEntry a{.path = "l.0", .size = 8, .dtype = "f32", .shape = {2}};
  const DiffEntry b{.path = "l.1", .size = 12, .dtype = "f32", .shape = {3}};
  std::vector<EntryDifference> found = {Changed(a, a, 0), Changed(b, b, 0)};
  found[0].values->sums = {.pairs = 2, .squares = 9, .first_squares = 16};
  found[1].values->sums = {.pairs = 3, .squares = 7, .first_squares = 48};
  const std::vector<DiffGroup> groups = GroupsOf(found);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].pattern, "l.{0,1}");
  EXPECT_DOUBLE_EQ(groups[0].values->relative_l2, 0.5);
  EXPECT_EQ(groups[0].first_bytes, 20U);
  EXPECT_EQ(TypeText(groups[0]), "f32");  // of two shapes
}

}  // namespace
}  // namespace ctxfs
