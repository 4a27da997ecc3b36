// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/container/open.h"
#include "core/formats/shard/shard.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::shard {
namespace {

std::shared_ptr<const Container> MustOpen(const std::string& bytes,
                                          OpenOptions options = {}) {
  ContainerResult opened = OpenBytes(bytes, options);
  EXPECT_TRUE(Ok(opened));
  return opened ? *opened : nullptr;
}

/// The bytes of the container's .ctxfs/metadata.json, if it has one.
Result<std::string> MetadataFile(const Container& container) {
  BlockCache cache(0);
  const auto file = FindFile(container, ".ctxfs/metadata.json");
  if (!file) return Error{Code::kNotFound, "no metadata.json"};
  Result<Content> content = file->Open(cache);
  if (!content) return std::move(content).error();
  return ReadAll(*content, cache);
}

TEST(ShardInfo, CountsAndNamesWhatTheHeaderHolds) {
  const std::string text = Prose(1000);
  std::string bytes = BuildShard(
      {{Raw("a", "0123456789"), ZstdEntry("b", text)}, 0x00A2, 2, 1});
  Poke(bytes, 8, uint8_t{32});
  const Json info = MustOpen(bytes)->Info(LoneContext());
  EXPECT_EQ(info["format"], "shard");
  EXPECT_EQ(info["version"], 2);
  EXPECT_EQ(info["role"], 2);
  EXPECT_EQ(info["role_name"], "SampleShard");
  EXPECT_EQ(info["flags"], 0xA2);
  EXPECT_EQ(info["alignment"], 32);
  EXPECT_EQ(info["compression_default"], 1);
  EXPECT_EQ(info["entries"], 2);
  EXPECT_EQ(info["entries_unreadable"], 0);
  EXPECT_EQ(info["container_size"], bytes.size());
  EXPECT_EQ(info["stored_size"], 10 + Zstd(text).size());
  EXPECT_EQ(info["decoded_size"], 1010);
  EXPECT_EQ(info["salvaged"], false);
  EXPECT_EQ(info["warnings"], Json::array());
}

TEST(ShardInfo, KnowsRolesByNumber) {
  const std::pair<uint8_t, const char*> roles[] = {
      {0, "unknown"},      {1, "ModelShard"}, {2, "SampleShard"},
      {3, "GemmShard"},    {4, "Manifest"},   {5, "WShard"},
      {6, "GraphShard"},   {7, "TraceShard"}, {8, "ColumnShard"},
      {16, "VectorIndex"}, {9, "unknown"},    {255, "unknown"}};
  for (const auto& [role, name] : roles) {
    ShardSpec spec;
    spec.role = role;
    EXPECT_EQ(MustOpen(BuildShard(spec))->Info(LoneContext())["role_name"],
              name);
  }
}

TEST(ShardInfo, ListsFaultsOfASalvagedContainer) {
  std::string bytes = BuildShard({{Raw("a", "0123456789"), Raw("b", "xy")}});
  Poke(bytes, RecordField(0, kDataOffsetField), uint64_t{3});
  const Json info = MustOpen(bytes, kSalvage)->Info(LoneContext());
  EXPECT_EQ(info["salvaged"], true);
  EXPECT_EQ(info["entries_unreadable"], 1);
  EXPECT_EQ(info["stored_size"], 2);
  ASSERT_EQ(info["warnings"].size(), 1U);
  EXPECT_EQ(info["warnings"][0].get<std::string>().find("byte 80: entry 0"),
            0U);
}

TEST(ShardDescribe, TellsEverythingOfAnEntry) {
  ShardEntry entry = ZstdEntry("dir/z", Prose(1000));
  entry.content_type = 10;
  entry.tag_bits = 0x0005;
  const std::string frame = entry.stored;
  const auto shard = MustOpen(BuildShard({{Raw("a", "hello"), entry}}));
  const EntryInfo info = DescribeEntry(*shard, 1);
  EXPECT_EQ(info.name, "dir/z");
  EXPECT_EQ(info.kind, "entry");
  EXPECT_EQ(info.size, 1000U);
  EXPECT_EQ(info.stored_size, frame.size());
  EXPECT_EQ(info.offset, 64 + 2 * 48 + 8 + 5U);
  EXPECT_EQ(info.codec, "zstd");
  EXPECT_EQ(info.content_type, "10 blob");
  EXPECT_EQ(info.extra, (Json{{"flags", 3}, {"tag_bits", 5}}));
  EXPECT_EQ(info.note, "");

  const EntryInfo raw = DescribeEntry(*shard, 0);
  EXPECT_EQ(raw.codec, "none");
  EXPECT_EQ(raw.checksum, "crc32c:9a71bb4c");
  EXPECT_EQ(raw.extra, (Json{{"flags", 0}}));
}

TEST(ShardDescribe, NamesTheCodecThatWouldBeUsed) {
  struct Case {
    uint16_t flags;
    uint8_t compression_default;
    bool zstd_data;
    const char* codec;
  };
  constexpr Case kCases[] = {
      {0x0000, 1, true, "none"}, {0x0002, 1, true, "none"},
      {0x0003, 2, true, "zstd"}, {0x0005, 1, false, "lz4"},
      {0x0007, 0, true, "zstd"}, {0x0007, 0, false, "lz4"},
      {0x0001, 0, true, "none"}, {0x0001, 1, true, "zstd"},
      {0x0001, 2, true, "lz4"},  {0x0001, 9, true, "none"},
  };
  const std::string text = Prose(500);
  for (const Case& c : kCases) {
    const auto shard = MustOpen(BuildShard(
        {{Compressed("x", text, c.zstd_data ? Zstd(text) : Lz4(text), c.flags)},
         0x0020,
         1,
         c.compression_default}));
    EXPECT_EQ(DescribeEntry(*shard, 0).codec, c.codec)
        << c.flags << " " << int{c.compression_default};
  }
}

TEST(ShardDescribe, WritesContentTypesWithTheirNumbers) {
  const std::pair<uint16_t, const char*> types[] = {
      {0, "0 unknown"},
      {1, "1 tensor"},
      {5, "5 text"},
      {12, "12 tensor_v3"},
      {16, "16 expert_indices"},
      {17, "17 column"},
      {18, "18 unknown"},
      {0x7FFF, "32767 unknown"},
      {0x8000, "32768 user:0"},
      {0xFFFF, "65535 user:32767"}};
  for (const auto& [type, text] : types) {
    ShardEntry entry = Raw("a", "x");
    entry.content_type = type;
    EXPECT_EQ(DescribeEntry(*MustOpen(BuildShard({{entry}})), 0).content_type,
              text);
  }
}

TEST(ShardDescribe, FollowsWhatReadingHasFound) {
  ShardEntry unsummed = Raw("none", "x");
  unsummed.checksum = 0;
  ShardEntry bad = ZstdEntry("bad", "hello hello hello");
  ++bad.checksum;
  ShardEntry torn = ZstdEntry("torn", "hello hello hello");
  torn.stored.pop_back();
  torn.checksum = 0;
  const auto shard = MustOpen(BuildShard(
      {{Raw("good", "hello"), ZstdEntry("z", "hello"), unsummed, bad, torn},
       0}));
  const auto verified = [&] {
    std::vector<std::string> all;
    for (uint32_t i = 0; i < 5; ++i) {
      all.push_back(DescribeEntry(*shard, i).verified);
    }
    return all;
  };
  EXPECT_EQ(verified(),
            (std::vector<std::string>{"no", "no", "none", "no", "none"}));
  for (uint32_t i = 0; i < 5; ++i) (void)ReadEntry(*shard, i).has_value();
  EXPECT_EQ(verified(), (std::vector<std::string>{"yes", "yes", "none",
                                                  "failed", "failed"}));
}

TEST(ShardMetadata, IsOneJsonValueAndWhatFollowsIsNot) {
  struct Case {
    std::string section;
    std::string file;  // metadata.json, the blanks after the value included
    Json value;
    size_t warnings;
  };
  const Case cases[] = {
      {R"({"a":1})", R"({"a":1})", {{"a", 1}}, 0},
      {"{\"a\":1}\n", "{\"a\":1}\n", {{"a", 1}}, 0},
      {"{\"a\":1} \r\n\tjunk{", "{\"a\":1} \r\n\t", {{"a", 1}}, 0},
      {std::string("[1]\0\0", 5), "[1]", {1}, 0},
      {"17x", "17", 17, 0},
      {"17 x", "17 ", 17, 0},
      {R"({"a":1,"a":2})", R"({"a":1,"a":2})", {{"a", 2}}, 0},
      {"{\"a\":", "{\"a\":", nullptr, 1},
      {"not json", "not json", nullptr, 1},
      {"SCHM\x01", "SCHM\x01", nullptr, 1},
      {std::string(limits::kJsonDepth + 1, '['),
       std::string(limits::kJsonDepth + 1, '['), nullptr, 1},
  };
  for (const Case& c : cases) {
    for (const auto flags : std::initializer_list<uint16_t>{
             0x0020, 0x0030}) {  // HAS_SCHEMA is ignored
      const auto shard =
          MustOpen(BuildShard({{Raw("a", "hello")}, flags, 1, 0, c.section}));
      EXPECT_EQ(shard->Metadata(Request()), c.value) << c.section;
      EXPECT_EQ(*MetadataFile(*shard), c.file);
      EXPECT_EQ(shard->Info(LoneContext())["warnings"].size(), c.warnings)
          << c.section;
      EXPECT_EQ(*ReadEntry(*shard, 0), "hello");
    }
  }
}

TEST(ShardMetadata, PointsAtItsBadByte) {
  const std::string bytes =
      BuildShard({{Raw("a", "hello")}, 0x0020, 1, 0, R"({"a":x})"});
  const Json warnings = MustOpen(bytes)->Info(LoneContext())["warnings"];
  ASSERT_EQ(warnings.size(), 1U);
  const size_t bad = bytes.rfind('x');
  EXPECT_EQ(warnings[0].get<std::string>().find("byte " + std::to_string(bad) +
                                                ": metadata: "),
            0U)
      << warnings[0];
}

TEST(ShardMetadata, MayBeMissingOrOutOfReach) {
  const std::string bytes = BuildShard({{Raw("a", "hello")}, 0x0030});
  for (const uint64_t at : {uint64_t{0}, uint64_t{bytes.size()},
                            uint64_t{bytes.size() + 1}, UINT64_MAX}) {
    std::string patched = bytes;
    Poke(patched, 32, at);
    const auto shard = MustOpen(patched);
    EXPECT_EQ(shard->Metadata(Request()), nullptr);
    EXPECT_TRUE(Fails(MetadataFile(*shard), Code::kNotFound));
    EXPECT_EQ(shard->Info(LoneContext())["warnings"].empty(),
              at <= bytes.size())
        << at;
    EXPECT_EQ(*ReadEntry(*shard, 0), "hello");
  }
}

TEST(ShardMetadata, MayLieBeforeTheData) {
  std::string bytes =
      BuildShard({{Raw("a", "hello")}, 0x0020, 1, 0, "", R"(--{"k":"v"}--)"});
  Poke(bytes, 32, uint64_t{bytes.find('{')});
  const auto shard = MustOpen(bytes);
  EXPECT_EQ(shard->Metadata(Request()), Json({{"k", "v"}}));
  EXPECT_EQ(*MetadataFile(*shard), R"({"k":"v"})");
}

TEST(ShardMetadata, IsShownWholeOrNotAtAll) {
  const auto source = std::make_shared<FaultySource>(BuildShard(
      {{Raw("a", "hello")}, 0x0020, 1, 0, "{\"a\":1}and other bytes"}));
  const ContainerResult opened = OpenAs<ShardContainer>(source, {});
  ASSERT_TRUE(Ok(opened));
  source->FailNext();
  const Result<std::string> file = MetadataFile(**opened);
  EXPECT_TRUE(Fails(file, Code::kIo))
      << "a failure of the store says nothing of where the value ends";
  EXPECT_EQ(*MetadataFile(**opened), "{\"a\":1}");
}

TEST(ShardAnnotate, AddsWhatTheMetadataSaysOfAnEntry) {
  ShardEntry tagged = Raw("a", "x");
  tagged.tag_bits = 0x8005;
  const auto shard = MustOpen(BuildShard({{tagged, Raw("b", "y")}}));
  const Json metadata = Json::parse(R"({
      "tag_dictionary": ["t0", "t1", "t2"],
      "entry_metadata": {"b": {"shape": [2]}, "nobody": 1}})");
  EntryInfo a = DescribeEntry(*shard, 0);
  shard->Annotate(metadata, a);
  EXPECT_EQ(a.extra["tags"], Json({"t0", "t2"}));
  EXPECT_FALSE(a.extra.contains("metadata"));
  EntryInfo b = DescribeEntry(*shard, 1);
  shard->Annotate(metadata, b);
  EXPECT_EQ(b.extra["metadata"], Json::parse(R"({"shape": [2]})"));
  EXPECT_FALSE(b.extra.contains("tags"));
}

TEST(ShardAnnotate, IgnoresMetadataOfTheWrongShape) {
  ShardEntry tagged = Raw("a", "x");
  tagged.tag_bits = 0xFFFF;
  const auto shard = MustOpen(BuildShard({{tagged}}));
  for (const char* text :
       {"null", "[]", "3", R"({"tag_dictionary":{},"entry_metadata":[]})",
        R"({"tag_dictionary":7,"entry_metadata":"a"})", "{}"}) {
    EntryInfo info = DescribeEntry(*shard, 0);
    const Json before = info.extra;
    shard->Annotate(Json::parse(text), info);
    EXPECT_EQ(info.extra, before) << text;
  }
}

TEST(ShardAnnotate, SaysNothingOfAnEntryWithoutAName) {
  std::string bytes = BuildShard({{Raw("", "x"), Raw("b", "y")}});
  Poke(bytes, RecordField(1, kNameOffsetField), UINT32_MAX);
  const auto shard = MustOpen(bytes);
  const Json metadata = {{"entry_metadata", {{"", "of the empty name"}}}};
  EntryInfo empty = DescribeEntry(*shard, 0);
  shard->Annotate(metadata, empty);
  EXPECT_EQ(empty.extra["metadata"], "of the empty name");
  EntryInfo unreadable = DescribeEntry(*shard, 1);
  shard->Annotate(metadata, unreadable);
  EXPECT_FALSE(unreadable.extra.contains("metadata"));
}

}  // namespace
}  // namespace ctxfs::shard
