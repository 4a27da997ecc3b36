// SPDX-License-Identifier: Apache-2.0
#include "core/formats/sample_shard/sample_shard.h"

#include <gtest/gtest.h>

#include "core/tree/container_tree.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

class Samples {
 public:
  explicit Samples(std::vector<ShardEntry> entries, uint16_t flags = 0)
      : shard_(std::make_shared<SampleShard>(
            std::make_shared<MemorySource>(
                BuildShard({.entries = std::move(entries),
                            .flags = flags,
                            .role = kSampleRole})),
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
  EXPECT_EQ(*samples.Json(0), "[1,2]\n");
  EXPECT_EQ(*samples.Json(1), "5\n");
  EXPECT_EQ(*samples.Lines(), "5\n[1,2]\n");
  const auto table = TableWith(*samples, "views/json/");
  EXPECT_TRUE(FindFile(*samples, "views/json/10.json"));
  EXPECT_EQ(PathIn(*table, 2), std::nullopt);
  EXPECT_EQ(PathIn(*table, 3), std::nullopt);
  EXPECT_EQ(table->size_cost(0), Cost::kDecode);
  EXPECT_EQ(samples->Info(LoneContext())["samples"], 2);
}

TEST(SampleShard, WhatPythonWritesIsMadeJson) {
  Samples samples({Raw("0", R"({"x": NaN, "y": [-Infinity, Infinity]})"),
                   Raw("1", "\"\xFF\""), Raw("2", "1 2"), Raw("3", "")});
  EXPECT_EQ(*samples.Json(0), "{\"x\":null,\"y\":[null,null]}\n");
  for (const uint32_t bad : {1U, 2U, 3U}) {
    EXPECT_TRUE(Fails(samples.Json(bad), Code::kCorrupt)) << bad;
    EXPECT_EQ(*TableWith(*samples, "views/json/")->Size(bad, samples.cache()),
              0U);
  }
  EXPECT_TRUE(Fails(samples.Lines(), Code::kCorrupt));
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
  EXPECT_EQ(*samples.Json(0), "1\n");
}

TEST(SampleShard, TheFirstWritersChecksumsInAViewFirst) {
  Samples samples({Ieee("0", "1")});
  EXPECT_EQ(*samples.Json(0), "1\n");
  EXPECT_EQ(DescribeEntry(*samples, 0).verified, "yes");
}

TEST(SampleShard, NoOtherChecksumIsTaken) {
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
  EXPECT_EQ(*samples.Json(1), "2\n");
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
  const ContainerTree branch(*OpenContainer(
      std::make_shared<MemorySource>(BuildShard(
          {.entries = {Raw("vocab.txt", "x")}, .role = kSampleRole})),
      OpenOptions()));
  EXPECT_FALSE(branch.tree().Lookup(Tree::kRoot, "views"));
}

TEST(SampleShard, OursNeverHidesAnEntry) {
  const ContainerTree branch(*OpenContainer(
      std::make_shared<MemorySource>(
          BuildShard({.entries = {Raw("views", "x"), Raw("1", "2")},
                      .role = kSampleRole})),
      OpenOptions()));
  EXPECT_TRUE(branch.Entry(*branch.tree().Lookup(Tree::kRoot, "views")));
  EXPECT_TRUE(branch.tree().Lookup(Tree::kRoot, "views~2"));
}

}  // namespace
}  // namespace ctxfs
