// SPDX-License-Identifier: Apache-2.0
//
// Archives of tar behind the end of another, and members whose headers are
// wrong (docs/formats/tar.md, sections 5 to 7).
#include <gtest/gtest.h>

#include <string>

#include "core/base/bytes.h"
#include "core/formats/tar/header.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/tar_builder.h"
#include "tests/unit/testing/tar_files.h"

namespace ctxfs::tar {
namespace {

TEST(Tar, Item41_5_ALaterArchiveReplacesNoMember) {
  const auto tar = Open(TarBuilder()
                            .Add("config", "older")
                            .Add("config", "NEW")
                            .AddHeader("link", '1', 0, "config")
                            .AddZeros()
                            .Add("config", "old 1")
                            .AddHeader("other", '1', 0, "./config")
                            .Add("./config", "old 2")
                            .Add("w", "old weights")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "config"), "NEW");
  EXPECT_EQ(ReadPath(*tar, "link"), "NEW");
  EXPECT_EQ(ReadPath(*tar, "other"), "old 1");
  EXPECT_EQ(ReadPath(*tar, "w"), "old weights");
  std::string others;
  for (const char* path : {"config~2", "config~3", "config~4"}) {
    others += ReadPath(*tar, path) + "|";
  }
  EXPECT_EQ(others, "older|old 1|old 2|");
  EXPECT_NE(WarningsOf(**tar).find("concatenated: "), std::string::npos);
}

TEST(Tar, Item41_5_ThirdArchivesYieldToTheFirst) {
  const auto tar = Open(TarBuilder()
                            .Add("a", "1")
                            .AddZeros()
                            .Add("a", "2")
                            .Add("b", "2")
                            .Add("b", "3")
                            .AddZeros()
                            .Add("b", "4")
                            .Add("a", "5")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "a") + ReadPath(*tar, "a~2") + ReadPath(*tar, "a~3"),
            "125");
  EXPECT_EQ(ReadPath(*tar, "b") + ReadPath(*tar, "b~2") + ReadPath(*tar, "b~3"),
            "324");
}

TEST(Tar, Item41_5_TheRestOfARecordIsNoArchive) {
  std::string record =
      TarBuilder().Add("a", "new").AddZeros().Add("a", "old").bytes();
  record.resize(10'240, 'x');
  const auto tar = Open(record);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), Paths{"a"});
  EXPECT_EQ(ReadPath(*tar, "a"), "new");
  EXPECT_NE(WarningsOf(**tar).find("byte 2048: trailing_data: "),
            std::string::npos);
}

TEST(Tar, Item41_5_SolarisExtendedHeadersArePax) {
  const auto tar = Open(TarBuilder()
                            .AddPax("path", "long/name", 'X')
                            .Add("short", "1")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), Paths{"long/name"});
}

TEST(Tar, Item41_5_AWrongSizeRecordTakesOneMemberAway) {
  const auto tar = Open(TarBuilder()
                            .AddPax("size", "abc")
                            .Add("bad", "xyz")
                            .Add("good", "1")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"bad", "good"}));
  EXPECT_TRUE(ReadPath(*tar, "bad").starts_with("error: "));
  EXPECT_EQ(ReadPath(*tar, "good"), "1");
  EXPECT_NE(WarningsOf(**tar).find("size: "), std::string::npos);
}

TEST(Tar, Item41_5_AnEmptyNameTakesNoOtherMemberAway) {
  const auto tar = Open(TarBuilder()
                            .Add("a", "1")
                            .Add("", "nameless")
                            .AddPax("path", "")
                            .Add("b", "2")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "a") + ReadPath(*tar, "b"), "12");
  EXPECT_EQ(ReadPath(*tar, "%"), "nameless");
}

TEST(Tar, Item41_5_GnuHeadersOfOldGoHaveAPrefix) {
  const auto path = [](const std::string& prefix, const char* magic) {
    const std::string block =
        TarBuilder()
            .AddHeader({"f", '0', "00000000000", "", prefix, magic})
            .bytes();
    return Header(AsBytes(block)).path();
  };
  EXPECT_EQ(path("long/folder", "ustar  "), "long/folder/f");
  EXPECT_EQ(path("0123456789a", "ustar  "), "0123456789a/f");
  EXPECT_EQ(path("2017 photos/and more", "ustar  "), "2017 photos/and more/f");
  // Times, and what is no text.
  EXPECT_EQ(path("", "ustar  "), "f");
  EXPECT_EQ(path("14213531666 14213531666 ", "ustar  "), "f");
  EXPECT_EQ(path("14213531666" + std::string(1, '\0') + "no time", "ustar  "),
            "f");
  EXPECT_EQ(path("\x80 a base", "ustar  "), "f");
  EXPECT_EQ(path("\xFF negative", "ustar  "), "f");
  EXPECT_EQ(path("\x01 control", "ustar  "), "f");
  EXPECT_EQ(path("long/folder", "other"), "f");
}

}  // namespace
}  // namespace ctxfs::tar
