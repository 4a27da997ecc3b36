// SPDX-License-Identifier: Apache-2.0
//
// Archives of tar (docs/formats/tar.md). golden/tar has those of real writers.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "core/container/container.h"
#include "core/container/format.h"
#include "core/formats/tar/header.h"
#include "core/formats/tar/limits.h"
#include "core/formats/tar/members.h"
#include "core/formats/tar/pax.h"
#include "core/formats/tar/samples.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/tar_builder.h"
#include "tests/unit/testing/tar_files.h"

namespace ctxfs::tar {
namespace {

TEST(Tar, IsRecognisedByTheChecksumOfItsFirstHeader) {
  const std::string tar = TarBuilder().Add("a", "x").bytes();
  EXPECT_TRUE(kTar.probe(AsBytes(tar)));
  EXPECT_TRUE(kTar.probe(AsBytes(tar).first(512)));
  EXPECT_FALSE(kTar.probe(AsBytes(tar).first(511)));
  std::string flipped = tar;
  flipped[3] ^= 1;
  EXPECT_FALSE(kTar.probe(AsBytes(flipped)));
  EXPECT_FALSE(kTar.probe(AsBytes(std::string(512, '\0'))));
  EXPECT_FALSE(kTar.probe(AsBytes(TarBuilder().AddHeader("", '0', 0).bytes())));
  EXPECT_TRUE(kTar.probe(AsBytes(TarBuilder().AddHeader("a", '?', 0).bytes())));
  EXPECT_TRUE(Fails(Open(flipped), Code::kNotContainer, 0));
}

TEST(Tar, ShowsMembersAsRangesOfTheArchive) {
  const auto tar = Open(
      TarBuilder().Add("a", std::string(700, 'x')).Add("b", "y").AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"a", "b"}));
  EXPECT_EQ(ReadPath(*tar, "a"), std::string(700, 'x'));
  EXPECT_EQ(ReadPath(*tar, "b"), "y");
  EXPECT_EQ(DescribeEntry(**tar, 1).offset, 3 * 512U + 512U);
  EXPECT_EQ(DescribeEntry(**tar, 1).verified, "none");
  EXPECT_EQ(WarningsOf(**tar), "[]");
}

TEST(Tar, OpeningReadsHeadersAndNotTheDataBetweenThem) {
  TarBuilder builder;
  const std::string large(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) builder.Add("f" + std::to_string(i), large);
  auto source = std::make_shared<FaultySource>(builder.AddZeros().bytes());
  ASSERT_TRUE(Ok(kTar.open(source, {}, LoneContext())));
  EXPECT_LE(source->bytes_read(), 20 * 4096U);
}

TEST(Tar, ManySmallMembersTakeFewReads) {
  TarBuilder builder;
  for (int i = 0; i < 10'000; ++i) builder.Add("f" + std::to_string(i), "x");
  auto source = std::make_shared<FaultySource>(builder.AddZeros().bytes());
  ASSERT_TRUE(Ok(kTar.open(source, {}, LoneContext())));
  EXPECT_LE(source->accesses().size(), 100U);
}

TEST(Tar, NumbersAsWritersAndReadersHaveThem) {
  const auto size_of = [](const std::string& field) {
    const std::string block =
        TarBuilder().AddHeader({"f", '0', field, "", ""}).bytes();
    return tar::Header(AsBytes(block)).size();
  };
  EXPECT_EQ(*size_of("00000000017"), 15U);
  EXPECT_EQ(*size_of("      17 "), 15U);
  EXPECT_EQ(*size_of(std::string("17\0"
                                 "999",
                                 6)),
            15U);
  EXPECT_EQ(*size_of("777777777777"), 0xFFFFFFFFFU);
  EXPECT_EQ(*size_of("            "), 0U);
  EXPECT_EQ(*size_of(std::string(12, '\0')), 0U);
  EXPECT_EQ(*size_of(std::string("\x80\0\0\0\0\0\0\2\0\0\0\1", 12)),
            (uint64_t{2} << 32) + 1);
  EXPECT_TRUE(Fails(size_of("0000000008 "), Code::kCorrupt));
  EXPECT_TRUE(Fails(size_of("-1"), Code::kCorrupt));
  EXPECT_TRUE(Fails(size_of(std::string(12, '\xFF')), Code::kCorrupt));
  EXPECT_TRUE(Fails(size_of("\x80" + std::string(11, '\xFF')), Code::kCorrupt));
  // 2^63, and the number below it.
  EXPECT_TRUE(Fails(size_of(std::string("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12)),
                    Code::kCorrupt));
  EXPECT_EQ(
      *size_of(std::string("\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12)),
      uint64_t{INT64_MAX});
}

TEST(Tar, SizesThatLeaveTheFileAreTruncated) {
  TarBuilder builder;
  builder.Add("a", "x").AddHeader("b", '0', 513).AddData("y");
  EXPECT_TRUE(Fails(Open(builder), Code::kCorrupt, 1024));
  const auto salvaged = Open(builder.bytes(), /*salvage=*/true);
  ASSERT_TRUE(Ok(salvaged));
  EXPECT_EQ(FilesIn(*salvaged), Paths{"a"});
  EXPECT_EQ((*salvaged)->Inspect(LoneContext()).size(), 1U);
  // The largest size: nothing may wrap.
  builder = TarBuilder().Add("a", "x").AddHeader(
      {"b", '0', std::string("\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12),
       "", ""});
  EXPECT_TRUE(Fails(Open(builder), Code::kCorrupt, 1024));
}

TEST(Tar, PaddingOfTheLastMemberMayBeMissing) {
  const auto tar =
      Open(TarBuilder().AddHeader("a", '0', 3).AddBytes("xyz").bytes());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "a"), "xyz");
  EXPECT_NE(WarningsOf(**tar).find("no_end: "), std::string::npos);
}

TEST(Tar, AFileThatEndsWithinAHeaderIsTruncated) {
  EXPECT_TRUE(Fails(Open(TarBuilder().Add("a", "x").AddBytes("half a header")),
                    Code::kCorrupt, 1024));
}

TEST(Tar, TypesWithoutDataAreFollowedByTheNextHeader) {
  TarBuilder builder;
  builder.AddHeader("d/", '5', 4096).AddHeader("p", '6', 4096);
  builder.AddHeader("l", '2', 4096, "a").Add("a", "x").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"l", "a"}));
}

TEST(Tar, Item28_11_AFirstMemberOfAnUnknownTypeIsAFile) {
  const auto tar =
      Open(TarBuilder().Add("a", "xyz", 'Z').Add("b", "").AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "a"), "xyz");
}

TEST(Tar, HardLinksAreTheLastEarlierFileOfTheirTarget) {
  TarBuilder builder;
  builder.Add("./a", "1").Add("a", "22");
  builder.AddHeader("hard", '1', 0, "././a").Add("a", "333");
  builder.AddHeader("later", '1', 0, "z").Add("z", "4").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"a", "hard", "z", "a~2", "a~3"}));
  EXPECT_EQ(ReadPath(*tar, "a"), "333");
  EXPECT_EQ(ReadPath(*tar, "a~2"), "1");
  EXPECT_EQ(ReadPath(*tar, "a~3"), "22");
  EXPECT_EQ(ReadPath(*tar, "hard"), "22");
  EXPECT_NE(WarningsOf(**tar).find("link: "), std::string::npos);
  EXPECT_NE(WarningsOf(**tar).find("duplicate_name: "), std::string::npos);
}

TEST(Tar, ExtensionsBeforeAMemberAreBounded) {
  const auto chain = [](int headers) {
    TarBuilder builder;
    for (int i = 0; i < headers; ++i) builder.Add("L", "name", 'L');
    return Open(builder.Add("short", "x").AddZeros());
  };
  EXPECT_TRUE(Ok(chain(16)));
  EXPECT_TRUE(Fails(chain(17), Code::kCorrupt, 16 * 1024));
  const std::string large(tar::kMaxExtension + 1, 'n');
  EXPECT_TRUE(Fails(Open(TarBuilder().Add("L", large, 'L').Add("a", "")),
                    Code::kLimit, 0));
  EXPECT_TRUE(Ok(Open(
      TarBuilder().Add("L", large.substr(1), 'L').Add("a", "").AddZeros())));
}

TEST(Tar, ExtensionsApplyToTheNextMemberAlone) {
  TarBuilder builder;
  builder.AddPax("path", "one").Add("a", "1").Add("b", "2");
  builder.Add("L", std::string("two\0ignored", 11), 'L').Add("c", "3");
  builder.Add("d", "4").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"one", "b", "two", "d"}));
}

TEST(Tar, GlobalPaxHeadersApplyUntilTheyAreReplaced) {
  TarBuilder builder;
  builder.AddPax("size", "1", 'g').AddHeader("a", '0', 0).AddData("1");
  builder.AddPax("size", "2").AddHeader("b", '0', 0).AddData("22");
  builder.AddPax("size", "").Add("c", "333");
  builder.AddHeader("d", '0', 0).AddData("4").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "a"), "1");
  EXPECT_EQ(ReadPath(*tar, "b"), "22");
  EXPECT_EQ(ReadPath(*tar, "c"), "333");
  EXPECT_EQ(ReadPath(*tar, "d"), "4");
}

TEST(Tar, PaxRecordsThatBreakTheirRules) {
  const auto parse = [](std::string_view records) {
    tar::PaxValues values;
    return tar::ParsePax(records, values);
  };
  EXPECT_TRUE(Ok(parse("")));
  EXPECT_TRUE(Ok(parse("12 path=abc\n")));
  EXPECT_TRUE(Ok(parse(std::string("12 path=abc\n\0\0", 14))));
  EXPECT_TRUE(Fails(parse("13 path=abc\n"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("11 path=abc\n"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("0 path=abc\n"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("-12 path=abc\n"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("99999999999999999999 a=b\n"), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("12 path=abc\n8 pathx\n"), Code::kCorrupt, 12));
  EXPECT_TRUE(Fails(parse("2 "), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(parse("12"), Code::kCorrupt, 0));
  tar::PaxValues values;
  ASSERT_TRUE(Ok(tar::ParsePax(TarBuilder::PaxRecord("path", "a=b\nc") +
                                   TarBuilder::PaxRecord("mtime", "1") +
                                   TarBuilder::PaxRecord("path", "x\ny=z"),
                               values)));
  EXPECT_EQ(values.path, "x\ny=z");
}

TEST(Tar, PaxSizesAreDecimalAndBelow2To63) {
  EXPECT_EQ(*tar::PaxSize("9223372036854775807"), uint64_t{INT64_MAX});
  EXPECT_TRUE(Fails(tar::PaxSize("9223372036854775808"), Code::kCorrupt));
  EXPECT_TRUE(Fails(tar::PaxSize("18446744073709551617"), Code::kCorrupt));
  EXPECT_TRUE(Fails(tar::PaxSize("-1"), Code::kCorrupt));
  EXPECT_TRUE(Fails(tar::PaxSize("0x10"), Code::kCorrupt));
}

TEST(Tar, Item41_8_PaxTimesMayBeNegativeAndHaveFractions) {
  EXPECT_EQ(tar::PaxTime("5"), (FileTime{5, 0}));
  EXPECT_EQ(tar::PaxTime("5.25"), (FileTime{5, 250'000'000}));
  EXPECT_EQ(tar::PaxTime("5.1234567899"), (FileTime{5, 123'456'789}));
  EXPECT_EQ(tar::PaxTime("-1.5"), (FileTime{-2, 500'000'000}));
  EXPECT_EQ(tar::PaxTime("-0"), (FileTime{0, 0}));
  EXPECT_EQ(tar::PaxTime("-7."), (FileTime{-7, 0}));
  for (const char* bad :
       {"", "-", ".5", "--5", "5.x", "1e9", "9223372036854775808"}) {
    EXPECT_EQ(tar::PaxTime(bad), std::nullopt) << bad;
  }
}

TEST(Tar, Item28_18_NamesTakeNoMoreBytesThanTheArchive) {
  TarBuilder builder;
  builder.AddPax("path", std::string(1'000'000, 'g'), 'g');
  for (int i = 0; i < 3; ++i) builder.Add("f", "");
  const auto refused = Open(builder.AddZeros());
  ASSERT_TRUE(Fails(refused, Code::kLimit));
  EXPECT_NE(refused.error().what.find("more bytes than"), std::string::npos);
  TarBuilder links;
  links.AddPax("linkpath", std::string(1'000'000, 'l'), 'g');
  for (int i = 0; i < 3; ++i) links.AddHeader("l", '2', 0);
  EXPECT_TRUE(Fails(Open(links.AddZeros()), Code::kLimit));
}

TEST(Tar, Item28_16_HardLinksAreOneFile) {
  TarBuilder builder;
  builder.Add("a", "data").Add("b", "more");
  builder.AddHeader("x", '1', 0, "a").AddHeader("y", '1', 0, "x");
  builder.AddHeader("z", '1', 0, "b").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  const ContainerTree tree(*tar);
  const auto at = [&tree](std::string_view path) {
    return *tree.Lookup(FileTree::kRoot, path);
  };
  EXPECT_EQ(tree.FirstName(at("x")), at("a"));
  EXPECT_EQ(tree.FirstName(at("y")), at("a"));
  EXPECT_EQ(tree.FirstName(at("a")), at("a"));
  EXPECT_EQ(tree.FirstName(at("z")), at("b"));
  EXPECT_EQ(tree.NameCount(at("y")), 3U);
  EXPECT_EQ(tree.NameCount(at("a")), 3U);
  EXPECT_EQ(tree.NameCount(at("b")), 2U);
  EXPECT_EQ(tree.PrimaryFiles(), 2U);
  EXPECT_EQ(tree.TotalSize(), 8U);
  EXPECT_EQ((*tar)->Info(LoneContext())["decoded_size"], 8);
}

TEST(Tar, Item28_11_LinksHaveTargetsOfTheTree) {
  TarBuilder builder;
  builder.Add("d/%", "x").AddHeader("l", '2', 0, "d/./%");
  builder.AddHeader("hard", '1', 0, "l").AddHeader("out", '2', 0, "/etc");
  const auto tar = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(FilesIn(*tar), (Paths{"d/%25", "l", "hard"}));
  const ContainerTree tree(*tar);
  for (const char* name : {"l", "hard"}) {
    const NodeId link = *tree.Lookup(FileTree::kRoot, name);
    ASSERT_EQ(tree.Type(link), NodeType::kLink);
    EXPECT_EQ(tree.LinkTarget(link), "d/./%25");
    EXPECT_EQ(*tree.Size(link, LoneContext()), 7U);
  }
  EXPECT_EQ(DescribeEntry(**tar, 1).extra["target"], "d/./%");
  EXPECT_NE(WarningsOf(**tar).find("link: 1 symbolic links are not shown"),
            std::string::npos);
}

TEST(Tar, ZerosEndTheSearchForFurtherArchives) {
  const auto with_zeros = [](size_t blocks) {
    return Open(
        TarBuilder().Add("a", "1").AddZeros(blocks).Add("b", "2").AddZeros());
  };
  const auto near = with_zeros(2047);
  ASSERT_TRUE(Ok(near));
  EXPECT_EQ(FilesIn(*near), (Paths{"a", "b"}));
  EXPECT_NE(WarningsOf(**near).find("concatenated: "), std::string::npos);
  const auto far = with_zeros(2048);
  ASSERT_TRUE(Ok(far));
  EXPECT_EQ(FilesIn(*far), Paths{"a"});
}

TEST(Tar, DamageBeforeTheEndIsReportedWithItsByte) {
  std::string bytes =
      TarBuilder().Add("a", "1").Add("b", "2").AddZeros().bytes();
  bytes[1024] ^= 1;
  EXPECT_TRUE(Fails(Open(bytes), Code::kCorrupt, 1024));
  const auto salvaged = Open(bytes, /*salvage=*/true);
  ASSERT_TRUE(Ok(salvaged));
  EXPECT_EQ(FilesIn(*salvaged), Paths{"a"});
}

TEST(Tar, EmptyDirectoriesAreShownOnce) {
  TarBuilder builder;
  builder.AddHeader("./", '5', 0).AddHeader("empty///", '5', 0);
  builder.AddHeader("empty", '5', 0).AddHeader("full/", '5', 0);
  builder.Add("full/x", "1");
  builder.AddHeader({"old/", '\0', "1", "", "", "\0\0\0\0\0\0\0"});
  const auto tar = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(tar));
  const ContainerTree tree(*tar);
  BlockCache cache(1 << 20);
  std::set<std::string> shown;
  for (NodeId node = 1; node < tree.tree().node_count(); ++node) {
    if (tree.IsDirectory(node) && *tree.Exists(node, Cost::kNone, cache)) {
      shown.insert(tree.Path(node));
    }
  }
  EXPECT_EQ(shown, (std::set<std::string>{"empty", "full", "old", ".ctxfs"}));
}

TEST(Tar, NamesOfSamples) {
  const auto parts = [](std::string_view name) {
    const auto parsed = tar::ParseSampleName(name);
    if (!parsed) return std::string("none");
    return std::string(parsed->key) + "|" + parsed->extension;
  };
  EXPECT_EQ(parts("000042.jpg"), "000042|jpg");
  EXPECT_EQ(parts("a/b.c/d.Seg.PNG"), "a/b.c/d|seg.png");
  EXPECT_EQ(parts("./d/x.a"), "./d/x|a");
  EXPECT_EQ(parts("README"), "none");
  EXPECT_EQ(parts(".hidden"), "none");
  EXPECT_EQ(parts("d.ir/.hidden"), "none");
  EXPECT_EQ(parts("__meta__"), "none");
  EXPECT_EQ(parts("__meta__/x.y"), "none");
  EXPECT_EQ(parts("__meta.y"), "__meta|y");
}

TEST(Tar, SamplesAreNeighboursWithOneKey) {
  TarBuilder builder;
  builder.Add("s.a", "1").Add("README", "").Add("s.A", "22").Add("t.a", "");
  builder.Add("s.b", "").Add("s.a", "4").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(
      ReadPath(*tar, "views/samples.jsonl"),
      "{\"key\": \"s\", \"members\": {\"a\": {\"path\": \"s.A\", \"size\": 2}, "
      "\"a~2\": {\"path\": \"s~2.a\", \"size\": 1}}}\n"
      "{\"key\": \"t\", \"members\": {\"a\": {\"path\": \"t.a\", \"size\": "
      "0}}}\n"
      "{\"key\": \"s\", \"members\": {\"b\": {\"path\": \"s.b\", \"size\": 0}, "
      "\"a\": {\"path\": \"s.a\", \"size\": 1}}}\n");
}

TEST(Tar, OneSampleOfTooManyMembersTakesOnlyItsViewAway) {
  TarBuilder builder;
  for (uint32_t i = 0; i <= tar::kMaxOfSample; ++i) {
    builder.AddHeader("s." + std::to_string(i), '0', 0);
  }
  const auto tar = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_TRUE(ReadPath(*tar, "views/samples.jsonl").starts_with("error: "));
  EXPECT_EQ(EntryCount(**tar), tar::kMaxOfSample + 1);
}

TEST(Tar, ManySamplesAreMadeInBlocks) {
  TarBuilder builder;
  constexpr int kSamples = 40'000;
  for (int i = 0; i < kSamples; ++i) {
    builder.AddHeader(std::to_string(i) + ".x", '0', 0);
    builder.AddHeader(std::to_string(i) + ".y", '0', 0);
  }
  const auto tar = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(tar));
  const std::string text = ReadPath(*tar, "views/samples.jsonl");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kSamples);
  EXPECT_NE(text.find("{\"key\": \"39999\", \"members\": {\"x\": {\"path\": "
                      "\"39999.x\", \"size\": 0}, \"y\": "),
            std::string::npos);
}

TEST(Tar, AGlobalLinkIsThatOfLinksAlone) {
  // A mebibyte that every header has, and only links may look at.
  TarBuilder builder;
  builder.AddPax("linkpath", std::string(1'000'000, 'l'), 'g');
  for (int i = 0; i < 20'000; ++i) builder.Add(std::to_string(i), "");
  const auto large = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(large));
  EXPECT_EQ(EntryCount(**large), 20'000U);
  const auto tar = Open(TarBuilder()
                            .Add("f", "data")
                            .AddPax("linkpath", "f", 'g')
                            .AddHeader("l", '1', 0, "other")
                            .AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(ReadPath(*tar, "l"), "data");
}

TEST(Tar, OpeningStopsWhenTheRequesterGivesUp) {
  TarBuilder builder;
  for (int i = 0; i < 5000; ++i) builder.Add("f", "x");
  auto source = std::make_shared<MemorySource>(builder.AddZeros().bytes());
  BlockCache cache(0);
  const InterruptAfter interrupt(2);
  EXPECT_TRUE(
      Fails(kTar.open(source, {}, {cache, interrupt}), Code::kInterrupted));
}

}  // namespace
}  // namespace ctxfs::tar
