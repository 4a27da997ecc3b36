// SPDX-License-Identifier: Apache-2.0
#include "core/formats/sample_shard/sample_shard.h"

#include <gtest/gtest.h>

#include <sstream>

#include "core/tree/container_tree.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::sample_shard {
namespace {

using namespace std::string_literals;

class Samples {
 public:
  explicit Samples(std::vector<ShardEntry> entries, uint16_t flags = 0)
      : shard_(std::make_shared<SampleShard>(
            std::make_shared<MemorySource>(
                BuildShard({.entries = std::move(entries),
                            .flags = flags,
                            .role = shard::kSampleRole})),
            OpenOptions())) {
    EXPECT_TRUE(Ok(shard_->Load(LoneContext())));
  }

  const SampleShard& operator*() const { return *shard_; }
  const SampleShard* operator->() const { return shard_.get(); }

  /// The bytes of the derived file of an entry.
  Result<std::string> Json(uint32_t entry) {
    const auto table = TableWith(*shard_, "views/json/");
    const Result<Content> content = table->Open(entry, cache_);
    if (!content) return content.error();
    EXPECT_EQ(*table->Size(entry, cache_), content->size());
    return ReadAll(*content, cache_);
  }

  Result<std::string> Lines() {
    const auto table = TableWith(*shard_, "views/samples.jsonl");
    const Result<Content> content = table->Open(0, cache_);
    const Result<uint64_t> size = table->Size(0, cache_);
    EXPECT_EQ(*size, content ? content->size() : 0);
    if (!content) return content.error();
    return ReadAll(*content, cache_);
  }

  BlockCache& cache() { return cache_; }

 private:
  std::shared_ptr<SampleShard> shard_;
  BlockCache cache_{1 << 20};
};

/// As the first writer stored it.
ShardEntry Ieee(std::string name, std::string data) {
  ShardEntry entry = Raw(std::move(name), std::move(data));
  entry.checksum = Crc32(AsBytes(entry.stored));
  return entry;
}

TEST(SampleId, WhatTheReferenceTakesForANumber) {
  EXPECT_EQ(SampleId("0"), 0);
  EXPECT_EQ(SampleId("007"), 7);
  EXPECT_EQ(SampleId(" 7\n"), 7);
  EXPECT_EQ(SampleId("-5"), -5);
  EXPECT_EQ(SampleId("+5"), 5);
  EXPECT_EQ(SampleId("1_000"), 1000);
  EXPECT_EQ(SampleId("99999999999999999999"), INT64_MAX);
  for (const char* none : {"", " ", "-", "_1", "1_", "1__0", "1.0", "0x1",
                           "vocab.txt", "sample/000007", "1 2", "--1"}) {
    EXPECT_EQ(SampleId(none), std::nullopt) << none;
  }
}

TEST(SampleShard, SamplesAreLines) {
  Samples samples({Raw("10", "[1, 2]"), Raw("2", "SJ\x02\x00\x00\x45"s),
                   Raw("__schema__", "{}"), Raw("vocab.txt", "the")});
  EXPECT_EQ(*samples.Json(0), "[1, 2]") << "as it is stored";
  EXPECT_EQ(*samples.Json(1), "5\n");
  EXPECT_EQ(*samples.Lines(), "5\n[1, 2]\n");
  const auto table = TableWith(*samples, "views/json/");
  EXPECT_TRUE(FindFile(*samples, "views/json/10.json"));
  EXPECT_EQ(PathIn(*table, 2), std::nullopt);
  EXPECT_EQ(PathIn(*table, 3), std::nullopt);
  EXPECT_EQ(table->size_cost(0), Cost::kDecode);
  EXPECT_EQ(samples->Info(LoneContext())["samples"], 2);
}

TEST(SampleShard, StoredJsonIsPassedThroughByteForByte) {
  const std::string stored[] = {
      "{\"n\": 123456789012345678901234567890, \"a\": 1, \"a\": 2}",
      "[1e400, -0, 0.1, 1.0E+2, 18446744073709551616]",
      R"({"lone": "\ud800", "escaped": "\u0041\/", "z": 1, "b": {}})",
      "\t[ 1 ,\"\xC3\xA4\"]  "};
  std::vector<ShardEntry> entries;
  std::string lines;
  for (size_t i = 0; i < std::size(stored); ++i) {
    entries.push_back(Raw(std::to_string(i), stored[i]));
    lines += stored[i] + "\n";
  }
  Samples samples(std::move(entries));
  for (uint32_t i = 0; i < std::size(stored); ++i) {
    EXPECT_EQ(*samples.Json(i), stored[i]);
  }
  EXPECT_EQ(*samples.Lines(), lines);
}

TEST(SampleShard, ASampleOfManyLinesIsOneLineAmongOthers) {
  const std::string pretty = "{\r\n  \"a\": [\n1,\n 2],\n \"b\": \"\\n\"\n}\n";
  Samples samples({Raw("0", pretty), Raw("1", "\xEF\xBB\xBF\n7\n")});
  EXPECT_EQ(*samples.Json(0), pretty);
  EXPECT_EQ(*samples.Json(1), "\xEF\xBB\xBF\n7\n");
  EXPECT_EQ(*samples.Lines(), "{  \"a\": [1, 2], \"b\": \"\\n\"}\n7\n");
}

TEST(SampleShard, NumbersThatOnlyPythonHasAreNull) {
  Samples samples({Raw("0", R"({"x": NaN, "y": [-Infinity,Infinity], "z": 1})"),
                   Raw("1", R"(["NaN", -1])"), Raw("2", "NaN")});
  EXPECT_EQ(*samples.Json(0), R"({"x": null, "y": [null,null], "z": 1})");
  EXPECT_EQ(*samples.Json(1), R"(["NaN", -1])");
  EXPECT_EQ(*samples.Json(2), "null");
}

TEST(SampleShard, WhatIsNotJsonIsRefused) {
  const std::string deep(200, '[');
  for (const std::string& text : {"\"\xFF\""s,
                                  "1 2"s,
                                  ""s,
                                  " \n"s,
                                  "{"s,
                                  "[1,]"s,
                                  "{\"a\"}"s,
                                  "{\"a\":}"s,
                                  "{1:2}"s,
                                  "{\"a\":1,}"s,
                                  "[1}"s,
                                  "01"s,
                                  "1."s,
                                  ".5"s,
                                  "-"s,
                                  "1e"s,
                                  "+1"s,
                                  "tru"s,
                                  "truee"s,
                                  "nan"s,
                                  "\"\\x\""s,
                                  "\"\\u12\""s,
                                  "\"\\"s,
                                  "\"a\nb\""s,
                                  "\"a"s,
                                  "[1 2]"s,
                                  "{\"a\" 1}"s,
                                  "1\0"s,
                                  "-NaN"s,
                                  "{NaN: 1}"s,
                                  "\"\xED\xA0\x80\""s,
                                  "]"s,
                                  "'a'"s,
                                  "// a\n1"s}) {
    Samples samples({Raw("0", text)});
    EXPECT_TRUE(Fails(samples.Json(0), Code::kCorrupt)) << text;
    EXPECT_EQ(*TableWith(*samples, "views/json/")->Size(0, samples.cache()),
              0U);
  }
  Samples samples({Raw("0", deep + std::string(200, ']'))});
  EXPECT_TRUE(Fails(samples.Json(0), Code::kLimit));
}

TEST(SampleShard, ASampleThatCannotBeShownHidesNoOther) {
  ShardEntry damaged = Raw("3", "[3]");
  damaged.stored[1] = '4';
  Samples samples({Raw("0", "[0]"), Raw("1", "[1"), Raw("2", "SJ\x02\0\0\xFF"s),
                   damaged, Raw("4", "[4]")},
                  0x0020);
  const std::string lines = *samples.Lines();
  std::istringstream text(lines);
  std::vector<std::string> all;
  for (std::string line; std::getline(text, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0], "[0]");
  EXPECT_EQ(all[4], "[4]");
  for (const size_t bad : {1U, 2U, 3U}) {
    const Json line = Json::parse(all[bad]);
    EXPECT_EQ(line["entry"], std::to_string(bad));
    EXPECT_NE(line["$error"], "");
    EXPECT_FALSE(samples.Json(static_cast<uint32_t>(bad)));
  }
  EXPECT_EQ(lines.find("[3]"), std::string::npos);
  EXPECT_EQ(lines.find("[4]\n"), lines.size() - 4)
      << "no byte of the damaged entry";
  // By now the damage is remembered, which must not change the text.
  BlockCache other(1 << 20);
  const auto table = TableWith(*samples, "views/samples.jsonl");
  EXPECT_EQ(*ReadAll(*table->Open(0, other), other), lines);
}

TEST(SampleShard, AnErrorLineNamesItsEntryByAnyName) {
  ShardEntry odd = Raw("\xFF", "[");
  odd.content_type = 2;
  Samples samples({odd});
  const Json line = Json::parse(*samples.Lines());
  EXPECT_EQ(line["entry_hex"], "ff");
}

TEST(SampleShard, AFailedReadIsNotAnErrorLine) {
  const auto source = std::make_shared<FaultySource>(
      BuildShard({.entries = {Raw("0", "1")}, .role = shard::kSampleRole}));
  const auto shard = std::make_shared<SampleShard>(source, OpenOptions());
  ASSERT_TRUE(Ok(shard->Load(LoneContext())));
  source->GoStaleAfter(0);
  EXPECT_TRUE(Fails(shard->Line(0, LoneContext()), Code::kStale));
}

TEST(SampleShard, TheFirstWritersChecksums) {
  Samples samples({Ieee("0", "1"), Raw("1", "2"), Raw("2", "3")});
  EXPECT_EQ(DescribeEntry(*samples, 0).verified, "no");
  EXPECT_EQ(*ReadEntry(*samples, 0), "1");
  EXPECT_EQ(*ReadEntry(*samples, 1), "2");
  EXPECT_EQ(
      samples->Entries()->Describe(0, LoneContext())->checksum.substr(0, 7),
      "crc32c:")
      << "as the index says";
  EXPECT_EQ(DescribeEntry(*samples, 0).checksum.substr(0, 6), "crc32:");
  EXPECT_EQ(DescribeEntry(*samples, 0).verified, "yes");
  EXPECT_EQ(DescribeEntry(*samples, 1).checksum.substr(0, 7), "crc32c:");
  EXPECT_NE(
      samples->Info(LoneContext())["warnings"].dump().find("1 of the entries"),
      std::string::npos);
  EXPECT_EQ(*samples.Json(0), "1");
}

TEST(SampleShard, TheFirstWritersChecksumsInAViewFirst) {
  Samples samples({Ieee("0", "1")});
  EXPECT_EQ(*samples.Json(0), "1");
  EXPECT_EQ(DescribeEntry(*samples, 0).verified, "yes");
}

TEST(SampleShard, NoOtherChecksumIsAccepted) {
  ShardEntry wrong = Raw("0", "1");
  wrong.checksum ^= 1;
  Samples samples({wrong});
  EXPECT_TRUE(Fails(ReadEntry(*samples, 0), Code::kChecksum));
  EXPECT_EQ(DescribeEntry(*samples, 0).verified, "failed");
  // Where the flag is set, a checksum is what it says it is.
  Samples later({Ieee("0", "1")}, 0x0020);
  EXPECT_TRUE(Fails(ReadEntry(*later, 0), Code::kChecksum));
}

TEST(SampleShard, ADamagedSampleFailsAlone) {
  Samples samples({Raw("0", "SJ\x02\x00\x00\xFF"s), Raw("1", "2")});
  EXPECT_TRUE(Fails(samples.Json(0), Code::kCorrupt));
  EXPECT_EQ(*ReadEntry(*samples, 0), "SJ\x02\x00\x00\xFF"s);
  EXPECT_EQ(*samples.Json(1), "2");
}

TEST(SampleShard, MoreSamplesThanABlockHolds) {
  std::vector<ShardEntry> entries;
  std::string expected;
  for (int i = 0; i < 600; ++i) {
    const std::string value = std::to_string(i * i);
    entries.push_back(Raw(std::to_string(i), value));
    expected += value + "\n";
  }
  Samples samples(std::move(entries));
  EXPECT_EQ(*samples.Lines(), expected);
  EXPECT_EQ(*samples.Lines(), expected);
}

TEST(SampleShard, WithoutSamplesThereAreNoViews) {
  const ContainerTree container_tree(*OpenContainer(
      std::make_shared<MemorySource>(BuildShard(
          {.entries = {Raw("vocab.txt", "x")}, .role = shard::kSampleRole})),
      OpenOptions()));
  EXPECT_FALSE(container_tree.tree().Lookup(NameTree::kRoot, "views"));
}

TEST(SampleShard, AGeneratedFileNeverHidesAnEntry) {
  const ContainerTree container_tree(*OpenContainer(
      std::make_shared<MemorySource>(
          BuildShard({.entries = {Raw("views", "x"), Raw("1", "2")},
                      .role = shard::kSampleRole})),
      OpenOptions()));
  EXPECT_TRUE(container_tree.Entry(
      *container_tree.tree().Lookup(NameTree::kRoot, "views")));
  EXPECT_TRUE(container_tree.tree().Lookup(NameTree::kRoot, "views~2"));
}

}  // namespace
}  // namespace ctxfs::sample_shard
