// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/text.h"

#include <gtest/gtest.h>

#include <string>

namespace ctxfs {
namespace {

TEST(WithoutControls, LeavesTextAsItIs) {
  const std::string text =
      "model \xc2\xa0 \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82";
  EXPECT_EQ(WithoutControls(text), text);
  EXPECT_EQ(WithoutControls(""), "");
}

TEST(WithoutControls, TakesControlCharactersAway) {
  EXPECT_EQ(WithoutControls("a\x1b[2J\n\x7f"), "a?[2J??");
  EXPECT_EQ(WithoutControls("\xc2\x80\xc2\x9b"
                            "2J\xc2\x9f"),
            "??2J?");
}

// A terminal that does not expect UTF-8 takes such a byte for a control.
TEST(WithoutControls, TakesBytesAwayThatAreNotUtf8) {
  EXPECT_EQ(WithoutControls("a\x9b"
                            "2J"),
            "a?2J");
  EXPECT_EQ(WithoutControls("\xc2"), "?");
  EXPECT_EQ(WithoutControls("\xe2\x82"), "??");
  EXPECT_EQ(WithoutControls("\xc0\x9b"), "??");
  EXPECT_EQ(WithoutControls("\xf0\x9f\x99x"), "???x");
}

}  // namespace
}  // namespace ctxfs
