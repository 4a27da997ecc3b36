// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/container/complete.h"
#include "core/formats/column_shard/column_shard.h"
#include "core/formats/column_shard/schema.h"
#include "tests/unit/testing/column_builder.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::column_shard {
namespace {

using namespace std::string_literals;

Json Stats(uint64_t count, uint64_t nulls = 0) {
  return {{"count", count}, {"null_count", nulls}};
}

Json Described(const char* name, ColumnType type,
               const std::vector<Json>& stats, bool nullable = false) {
  return {{"name", name},
          {"type", static_cast<int>(type)},
          {"nullable", nullable},
          {"stats", stats}};
}

std::shared_ptr<const ColumnShard> Table(const Json& schema,
                                         std::vector<ShardEntry> entries) {
  entries.push_back(Raw("__schema__", schema.dump()));
  auto shard = std::make_shared<ColumnShard>(
      std::make_shared<MemorySource>(BuildShard(
          {.entries = std::move(entries), .role = shard::kColumnRole})),
      OpenOptions());
  EXPECT_TRUE(Ok(shard->Load(LoneContext())));
  return shard;
}

/// A table of one row group.
std::shared_ptr<const ColumnShard> Group(uint64_t rows, const Json& columns,
                                         std::vector<ShardEntry> entries) {
  return Table({{"row_count", rows},
                {"row_group_count", 1},
                {"row_group_size", 1 << 30},
                {"columns", columns}},
               std::move(entries));
}

bool Warns(const ColumnShard& shard, const std::string& part) {
  return shard.Info(LoneContext())["warnings"].dump().find(part) !=
         std::string::npos;
}

Result<std::string> Column0(const ColumnShard& shard,
                            ColumnFile file = ColumnFile::kValues) {
  BlockCache cache(1 << 20);
  const Result<Content> content = shard.OpenColumn(0, file, cache);
  if (!content) return content.error();
  return ReadAll(*content, cache);
}

TEST(ColumnSchema, RowGroupsInOrder) {
  const auto shard = Table(
      {{"row_count", 3},
       {"row_group_count", 2},
       {"columns", Json::array({Described("a:b", ColumnType::kInt16,
                                          {Stats(2), Stats(1)})})}},
      {Raw("1:a:b", Payload(0, 1, "ef")), Raw("0:a:b", Payload(0, 2, "abcd"))});
  EXPECT_EQ(shard->Info(LoneContext())["warnings"], Json::array());
  EXPECT_EQ(*Column0(*shard), "abcdef");
  EXPECT_EQ(EntryPath(*shard, 0), "row_groups/1/a:b");
  EXPECT_EQ(EntryPath(*shard, 2), EntryName(*shard, 2));
}

TEST(ColumnSchema, CompressedChunksAreTheSame) {
  const std::string split = Payload(4, 2, "aAbBcCdD");
  for (const ShardEntry& entry :
       {Raw("0:x", split), ZstdEntry("0:x", split), Lz4Entry("0:x", split)}) {
    const auto shard = Group(
        2, Json::array({Described("x", ColumnType::kFloat32, {Stats(2)})}),
        {entry});
    EXPECT_EQ(*Column0(*shard), "abcdABCD");
  }
}

TEST(ColumnSchema, Item43_1_AColumnOfOtherRowsWithholdsTheTable) {
  const auto shard =
      Group(3,
            Json::array({Described("x", ColumnType::kUint32, {Stats(3)}),
                         Described("y", ColumnType::kUint32, {Stats(2)})}),
            {Raw("0:x", Payload(0, 3, "aaaabbbbcccc")),
             Raw("0:y", Payload(0, 2, "aaaabbbb"))});
  const Status complete = CheckComplete(*shard, LoneContext());
  ASSERT_FALSE(complete);
  EXPECT_EQ(complete.error().what,
            "column 'y' has 2 rows, and column 'x' has 3");
}

TEST(ColumnSchema, TrustsTheBytesAndNotTheMetadata) {
  // Two rows are there where the statistics have three.
  const auto shard =
      Group(3, Json::array({Described("x", ColumnType::kUint32, {Stats(3)})}),
            {Raw("0:x", Payload(0, 2, "aaaabbbb"))});
  EXPECT_TRUE(Warns(*shard, "row group 0 has 2 rows, not 3"));
  EXPECT_TRUE(Warns(*shard, "has 2 rows, but row_count is 3"));
  EXPECT_EQ(*Column0(*shard), "aaaabbbb");
  // But the chunk must say so, too.
  const auto liar =
      Group(3, Json::array({Described("x", ColumnType::kUint32, {Stats(3)})}),
            {Raw("0:x", Payload(0, 3, "aaaabbbb"))});
  EXPECT_TRUE(liar->columns().empty());
  EXPECT_TRUE(Warns(*liar, "cannot hold 3 rows"));
  // No whole number of rows: no column.
  const auto odd =
      Group(3, Json::array({Described("x", ColumnType::kUint32, {Stats(3)})}),
            {Raw("0:x", Payload(0, 2, "aaaabbb"))});
  EXPECT_TRUE(odd->columns().empty());
  EXPECT_TRUE(Warns(*odd, "cannot hold 3 rows"));
}

TEST(ColumnSchema, FewerRowsWithValidityBits) {
  for (uint32_t rows = 0; rows < 40; ++rows) {
    const std::string payload = Payload(
        0, rows,
        std::string((rows + 7) / 8, '\xFF') + std::string(rows * 2, 'x'));
    const auto shard = Group(
        40,
        Json::array({Described("x", ColumnType::kUint16, {Stats(40)}, true)}),
        {rows % 2 == 0 ? Raw("0:x", payload) : ZstdEntry("0:x", payload)});
    ASSERT_EQ(shard->columns().size(), 1U) << rows;
    EXPECT_EQ(shard->columns()[0].rows, rows);
    EXPECT_EQ(*Column0(*shard, ColumnFile::kValidity), std::string(rows, '\1'));
  }
}

TEST(ColumnSchema, NoMoreIsDecodedAtOpenThanTheLimit) {
  // Both are a row short; they are too long to be looked at together.
  constexpr uint32_t kRows = 9 << 20;
  const std::string payload = Payload(0, kRows, std::string(kRows, 'x'));
  const auto shard = Group(
      kRows + 1,
      Json::array({Described("x", ColumnType::kInt8, {Stats(kRows + 1)}),
                   Described("y", ColumnType::kInt8, {Stats(kRows + 1)})}),
      {ZstdEntry("0:x", payload), ZstdEntry("0:y", payload)});
  ASSERT_EQ(shard->columns().size(), 1U);
  EXPECT_EQ(shard->columns()[0].name, "x");
  EXPECT_EQ(shard->columns()[0].rows, kRows);
}

TEST(ColumnSchema, AChunkMayNotHaveMoreRowsThanItsStatistics) {
  const std::string delta = "\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s;
  const auto numbers =
      Group(2, Json::array({Described("x", ColumnType::kInt64, {Stats(2)})}),
            {Raw("0:x", Payload(3, 3, delta))});
  EXPECT_TRUE(Fails(Column0(*numbers), Code::kCorrupt));
  const auto text =
      Group(1, Json::array({Described("x", ColumnType::kString, {Stats(1)})}),
            {Raw("0:x", Payload(0, 2, "\1\0\0\0a\1\0\0\0b"s))});
  EXPECT_TRUE(Fails(Column0(*text), Code::kCorrupt));
  // Fewer lines of text than the statistics say are no fault: the size of the
  // text was not announced.
  const auto few =
      Group(3, Json::array({Described("x", ColumnType::kString, {Stats(3)})}),
            {Raw("0:x", Payload(0, 1, "\1\0\0\0a"s))});
  EXPECT_EQ(*Column0(*few), "\"a\"\n");
}

TEST(ColumnSchema, RowsWithoutStoredBytesAreLimited) {
  const std::string run = Payload(2, UINT32_MAX, "\1\xFF\xFF\xFF\xFF\x0F\1"s);
  const auto bomb = [&](uint64_t rows, ColumnType type, bool nullable = false) {
    return Group(rows,
                 Json::array({Described("x", type, {Stats(rows)}, nullable)}),
                 {Raw("0:x", run)})
        ->columns()
        .empty();
  };
  EXPECT_TRUE(bomb(UINT32_MAX, ColumnType::kBool));
  EXPECT_TRUE(bomb((1 << 25) + 1, ColumnType::kBool));
  EXPECT_TRUE(bomb((1 << 25) + 1, ColumnType::kDatetime));
  EXPECT_FALSE(bomb(1 << 25, ColumnType::kBool));
  EXPECT_TRUE(bomb(1 << 25, ColumnType::kBool, true));
  EXPECT_TRUE(bomb(uint64_t{1} << 32, ColumnType::kBool));
}

TEST(ColumnSchema, ARowGroupHoldsNoMoreThanItsSize) {
  const auto shard =
      Table({{"row_count", 3},
             {"row_group_count", 1},
             {"row_group_size", 2},
             {"columns",
              Json::array({Described("x", ColumnType::kUint8, {Stats(3)})})}},
            {Raw("0:x", Payload(0, 3, "abc"))});
  EXPECT_TRUE(Warns(*shard, "3 rows in a row group of 2"));
}

TEST(ColumnSchema, VectorsAreAsLongInEveryGroup) {
  const auto vectors = [](const std::string& first, const std::string& second) {
    return Table(
        {{"row_count", 3},
         {"row_group_count", 2},
         {"columns", Json::array({Described("x", ColumnType::kFloat32,
                                            {Stats(2), Stats(1)})})}},
        {Raw("0:x", Payload(0, 2, first)), Raw("1:x", Payload(0, 1, second))});
  };
  const auto shard = vectors(std::string(24, 'a'), std::string(12, 'b'));
  ASSERT_EQ(shard->columns().size(), 1U);
  EXPECT_EQ(shard->columns()[0].shape(), (std::vector<uint64_t>{3, 3}));
  EXPECT_EQ(*Column0(*shard), std::string(24, 'a') + std::string(12, 'b'));
  EXPECT_TRUE(Warns(*vectors(std::string(24, 'a'), std::string(8, 'b')),
                    "rows of 2 values follow rows of 3"));
  EXPECT_TRUE(Warns(*vectors(std::string(20, 'a'), std::string(8, 'b')),
                    "not a whole number"));
}

TEST(ColumnSchema, NoSchemaMakesAContainerUnreadable) {
  for (const char* schema :
       {"", "[]", "null", "{}", R"({"columns": []})",
        R"({"row_group_count": 1, "columns": 3})",
        R"({"row_group_count": 1, "columns": [1, {}, {"name": 4}]})",
        R"({"row_group_count": -1, "columns": [{"name": "x", "type": 2}]})",
        R"({"row_group_count": 1, "columns": [{"name": "x", "type": 18}]})",
        R"({"row_group_count": 1, "columns": [{"name": "x", "type": 2}]})",
        R"({"row_group_count": 18446744073709551615,
            "columns": [{"name": "x", "type": 2, "stats": [{"count": 1}]}]})",
        R"({"row_group_count": 1, "columns": [{"name": "x", "type": 2,
            "stats": [{"count": 1e3}]}]})"}) {
    auto shard = std::make_shared<ColumnShard>(
        std::make_shared<MemorySource>(
            BuildShard({.entries = {Raw("0:x", Payload(0, 1, "a")),
                                    Raw("__schema__", schema)},
                        .role = shard::kColumnRole})),
        OpenOptions());
    ASSERT_TRUE(Ok(shard->Load(LoneContext()))) << schema;
    EXPECT_TRUE(shard->columns().empty()) << schema;
    EXPECT_FALSE(shard->Info(LoneContext())["warnings"].empty()) << schema;
  }
}

TEST(ColumnSchema, EachColumnAppearsOnce) {
  const Json x = Described("x", ColumnType::kUint8, {Stats(1)});
  const auto shard =
      Group(1, Json::array({x, x}), {Raw("0:x", Payload(0, 1, "a"))});
  EXPECT_EQ(shard->columns().size(), 1U);
  EXPECT_TRUE(Warns(*shard, "is there twice"));
}

/// A table of one column and `groups` row groups of one row each.
Json Narrow(int groups) {
  const std::vector<Json> stats(static_cast<size_t>(groups), Stats(1));
  return {{"row_count", groups},
          {"row_group_count", groups},
          {"row_group_size", 1},
          {"columns", Json::array({Described("x", ColumnType::kInt8, stats)})}};
}

// With the flags of two codecs, the first bytes of a chunk tell which it is.
TEST(ColumnSchema, ChunksAreExaminedOnceToDescribeAColumn) {
  std::vector<ShardEntry> entries;
  for (int i = 0; i < 10; ++i) {
    entries.push_back(ZstdEntry(std::to_string(i) + ":x", Payload(0, 1, "x")));
    entries.back().flags = 0x0007;
  }
  entries.push_back(Raw("__schema__", Narrow(10).dump()));
  const auto source = std::make_shared<FaultySource>(
      BuildShard({.entries = std::move(entries), .role = shard::kColumnRole}));
  const auto shard = std::make_shared<ColumnShard>(source, OpenOptions());
  ASSERT_TRUE(Ok(shard->Load(LoneContext())));
  ASSERT_EQ(shard->columns().size(), 1U);
  const auto describe = [&] {
    return shard->DescribeColumn(0, ColumnFile::kValues, LoneContext());
  };
  source->FailNext();
  EXPECT_TRUE(describe().incomplete);
  const EntryInfo info = describe();
  EXPECT_FALSE(info.incomplete);
  EXPECT_EQ(info.codec, "zstd");
  EXPECT_EQ(info.offset, kNoOffset);
  EXPECT_EQ(info.verified, "no");
  source->ForgetAccesses();
  EXPECT_EQ(describe().codec, "zstd");
  EXPECT_TRUE(source->accesses().empty());

  ASSERT_EQ(*Column0(*shard), "xxxxxxxxxx");
  EXPECT_EQ(describe().verified, "yes");
}

TEST(ColumnSchema, DescribingAColumnStopsWhenItIsInterrupted) {
  constexpr int kGroups = 40'000;
  std::vector<ShardEntry> entries;
  for (int i = 0; i < kGroups; ++i) {
    entries.push_back(Raw(std::to_string(i) + ":x", Payload(0, 1, "x")));
  }
  const auto shard = Table(Narrow(kGroups), std::move(entries));
  ASSERT_EQ(shard->columns().size(), 1U);
  ASSERT_EQ(shard->columns()[0].parts.size(), size_t{kGroups});
  BlockCache cache(0);
  for (const uint64_t checks : {0U, 1U, 4U}) {
    const InterruptAfter interrupt(checks);
    EXPECT_TRUE(shard
                    ->DescribeColumn(0, ColumnFile::kValues,
                                     ReadContext(cache, interrupt))
                    .incomplete)
        << checks;
  }
  EXPECT_FALSE(shard->DescribeColumn(0, ColumnFile::kValues, cache).incomplete);
}

}  // namespace
}  // namespace ctxfs::column_shard
