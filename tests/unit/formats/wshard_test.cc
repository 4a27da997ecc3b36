// SPDX-License-Identifier: Apache-2.0
#include "core/formats/wshard/wshard.h"

#include <gtest/gtest.h>

#include "core/formats/wshard/join.h"
#include "core/formats/wshard/manifest.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::wshard {
namespace {

std::shared_ptr<const WShardContainer> Episode(
    std::vector<ShardEntry> entries, uint8_t compression_default = 0) {
  const std::string bytes =
      BuildShard({.entries = std::move(entries),
                  .role = shard::kWShardRole,
                  .compression_default = compression_default});
  auto episode = std::make_shared<WShardContainer>(
      std::make_shared<MemorySource>(bytes), OpenOptions());
  EXPECT_TRUE(Ok(episode->Load(LoneContext())));
  return episode;
}

Result<std::string> ReadLane(const Container& container, uint32_t entry) {
  BlockCache cache(1 << 20);
  return ReadEntry(container, entry, cache);
}

constexpr const char* kEpisode = R"({"episode_id": "e", "length_T": 4})";

TEST(WShard, CompressedMetadataIsRead) {
  const std::string channels =
      R"({"channels": [{"id": "x", "dtype": "i16", "shape": [2]}]})";
  // Flag 1 alone: the header names the codec.
  const auto episode =
      Episode({Compressed("meta/episode", kEpisode, Lz4(kEpisode), 0x0001),
               Compressed("meta/channels", channels, Lz4(channels), 0x0001),
               Raw("signal/x", std::string(16, 'x'))},
              2);
  EXPECT_EQ(episode->length(), 4U);
  EXPECT_EQ(DescribeEntry(*episode, 2).dtype, "i16");
  EXPECT_EQ(episode->Info(LoneContext())["episode"]["id"], "e");
}

TEST(WShard, AnUndeclaredLaneOfBytesHasANote) {
  const auto episode =
      Episode({Raw("meta/episode", kEpisode), Raw("meta/channels", "{}"),
               Raw("action/grip", "\x01\x02\x03\x04\x05\x06\x07\x08"),
               Raw("notes", "text")});
  EXPECT_EQ(DescribeEntry(*episode, 2).dtype, "");
  EXPECT_NE(DescribeEntry(*episode, 2).note.find("no array: meta/channels"),
            std::string::npos);
  EXPECT_EQ(DescribeEntry(*episode, 3).note, "");
}

TEST(WShard, MetadataNeverStopsAMount) {
  for (const char* text :
       {"", "{", "[1,2]", "\"x\"", "null", "{\"length_T\":-4}",
        "{\"length_T\":1e30,\"timebase\":[],\"env_id\":4}"}) {
    const auto episode =
        Episode({Raw("meta/episode", text), Raw("meta/channels", text),
                 Raw("done", std::string(6, '\0'))});
    EXPECT_EQ(episode->length(), 6U) << text;
    EXPECT_EQ(episode->Info(LoneContext())["episode"]["id"], nullptr);
  }
}

TEST(WShard, MetadataOverTheLimitIsNotRead) {
  const std::string zeros(17 << 20, ' ');
  const auto episode = Episode({ZstdEntry("meta/episode", zeros)});
  EXPECT_NE(episode->Info(LoneContext()).dump().find("over the limit"),
            std::string::npos);
}

TEST(WShard, LengthComesFromTheLanesWhereNothingSaysIt) {
  const std::string eight(8, '\0');
  EXPECT_EQ(Episode({Raw("reward", eight)})->length(), 2U);
  EXPECT_EQ(Episode({Raw("reward", eight), Raw("time/ticks", eight + eight)})
                ->length(),
            4U);
  EXPECT_EQ(Episode({Raw("reward", eight), Raw("done", "abc")})->length(), 3U);
  EXPECT_EQ(Episode({Raw("signal/x", eight)})->length(), std::nullopt);
}

TEST(WShard, AFlagWithoutACodecMeansRawBytes) {
  ShardEntry entry = Raw("signal/x", "raw bytes");
  entry.flags = 0x0001;
  entry.orig_size = 1000;
  const auto episode = Episode({entry});
  EXPECT_EQ(EntrySize(*episode, 0), 9U);
  EXPECT_EQ(DescribeEntry(*episode, 0).codec, "none");
  const Result<std::string> read = ReadLane(*episode, 0);
  ASSERT_TRUE(Ok(read));
  EXPECT_EQ(*read, "raw bytes");
}

TEST(WShard, IdentityIsTheDigestOfItsEntry) {
  const auto episode = Episode({ZstdEntry("meta/identity", "abc")});
  EXPECT_EQ(episode->Info(LoneContext())["identity"],
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_FALSE(
      Episode({Raw("done", "")})->Info(LoneContext()).contains("identity"));
}

/// Five steps of lanes "a" (1 byte a step) and "b" (2 bytes), two at a time.
std::string Interleaved(uint64_t steps) {
  const std::string data = "12AaBb34CcDd5Ee";
  std::string bytes = BuildShard(
      {.entries = {Raw("meta/episode",
                       "{\"length_T\":" + std::to_string(steps) + "}"),
                   Raw("b", std::string(10, '?')), Raw("a", data)},
       .role = shard::kWShardRole});
  const size_t at = bytes.size() - data.size();
  Poke(bytes, RecordField(2, kDiskSizeField), uint64_t{5});
  Poke(bytes, RecordField(2, kChecksumField),
       Crc32c(AsBytes(data.substr(0, 5))));
  Poke(bytes, RecordField(1, kDataOffsetField), uint64_t{at + 2});
  Poke(bytes, RecordField(1, kChecksumField),
       Crc32c(AsBytes(data.substr(2, 10))));
  return bytes;
}

TEST(WShard, RepairsInterleavedLanes) {
  const auto open = [](const std::string& bytes) {
    auto episode = std::make_shared<WShardContainer>(
        std::make_shared<MemorySource>(bytes), OpenOptions());
    EXPECT_TRUE(Ok(episode->Load(LoneContext())));
    return episode;
  };
  const auto repaired = open(Interleaved(5));
  EXPECT_EQ(*ReadLane(*repaired, 2), "12345");
  EXPECT_EQ(*ReadLane(*repaired, 1), "AaBbCcDdEe");
  EXPECT_EQ(repaired->Info(LoneContext())["repaired"]["flush_interval"], 2);
  EXPECT_EQ(DescribeEntry(*repaired, 1).extra["repaired"], true);
  // The newest writers interleave lanes too.
  EXPECT_EQ(repaired->Info(LoneContext())["warnings"].dump().find(" old "),
            std::string::npos);
  EXPECT_EQ(DescribeEntry(*repaired, 1).note.find(" old "), std::string::npos);

  // A byte of "b" within the extent of "a": neither is to be trusted.
  std::string damaged = Interleaved(5);
  damaged[damaged.size() - 12] ^= 1;
  const auto broken = open(damaged);
  EXPECT_TRUE(Fails(ReadLane(*broken, 1), Code::kChecksum));
  EXPECT_TRUE(Fails(ReadLane(*broken, 2), Code::kChecksum));

  // Steps that explain nothing: the bytes as they are, and no arrays.
  const auto odd = open(Interleaved(10));
  EXPECT_EQ(*ReadLane(*odd, 1), "AaBb34CcDd");
  EXPECT_TRUE(ArraysOf(*odd).empty());
  EXPECT_NE(DescribeEntry(*odd, 1).note, "");
  EXPECT_FALSE(odd->Info(LoneContext()).contains("repaired"));
}

TEST(Interleaving, RefusesWhatItDoesNotExplain) {
  const auto find = [](std::vector<StoredLane> lanes, uint64_t steps,
                       uint64_t size = 1000) {
    return Interleaving::Find(lanes, steps, size).has_value();
  };
  EXPECT_TRUE(find({{0, 100, 5}, {1, 102, 10}}, 5));
  EXPECT_FALSE(find({{0, 100, 5}, {1, 102, 10}}, 0));
  EXPECT_FALSE(find({{0, 100, 5}, {1, 102, 11}}, 5));
  EXPECT_FALSE(find({{0, 100, 5}, {1, 100, 10}}, 5));
  EXPECT_FALSE(find({{0, 100, 5}, {1, 105, 10}}, 5)) << "they do not overlap";
  EXPECT_FALSE(find({{0, 100, 5}, {1, 102, 10}}, 5, 114)) << "past the end";
  EXPECT_FALSE(find({{0, 100, 5}, {1, 102, 10}, {2, 105, 5}}, 5));
  EXPECT_FALSE(find({{0, 100, 5}}, 5));
}

TEST(Signs, ThreeLayouts) {
  BlockCache cache(1000);
  const auto decode = [&cache](const std::string& packed, uint64_t steps,
                               std::optional<uint64_t> elements) {
    const auto layout = SignLayout::Find(packed.size(), steps, elements);
    EXPECT_TRUE(layout);
    Content content;
    auto block = std::make_shared<TestBlock>(
        Key{NewOwner(), 0}, 0,
        [packed]() -> Result<Buffer> { return BufferOf(packed); });
    content.Append(Computed{std::make_shared<Signs>(block, *layout), 0},
                   layout->decoded_size());
    return ReadAll(content, cache);
  };
  const auto signs = [](std::string_view text) {
    std::string bytes;
    for (const char c : text) bytes += static_cast<char>(c == '+' ? 1 : -1);
    return bytes;
  };
  // Ten steps; the lowest bit is the first.
  EXPECT_EQ(*decode("\x01\x02", 10, std::nullopt), signs("+--------+"));
  EXPECT_EQ(*decode({"\x01\x02\xFE\x01", 4}, 10, 2),
            signs("+--+-+-+-+-+-+-+-++-"));
  EXPECT_EQ(*decode({"\2\0\0\0\x01\x02\2\0\0\0\xFE\x01", 12}, 10, 2),
            signs("+--+-+-+-+-+-+-+-++-"));
  EXPECT_TRUE(Fails(decode({"\2\0\0\0\x01\x02\3\0\0\0\xFE\x01", 12}, 10, 2),
                    Code::kCorrupt));
  EXPECT_FALSE(SignLayout::Find(5, 10, 2));
  EXPECT_FALSE(SignLayout::Find(2, std::nullopt, 2));
  EXPECT_FALSE(SignLayout::Find(0, 0, 2));
  EXPECT_FALSE(SignLayout::Find(8, UINT64_MAX, UINT64_MAX));
  EXPECT_EQ(ResidualSignal("residual/a/b/sign2nddiff"), "a/b");
  EXPECT_EQ(ResidualSignal("residual//sign2nddiff"), std::nullopt);
  EXPECT_EQ(ResidualSignal("residual/sign2nddiff"), std::nullopt);
}

TEST(ChunkManifest, StaysInside) {
  for (const char* inside : {"a", "a/b", "./a", "a/../b", "a//b", ""}) {
    EXPECT_TRUE(StaysInside(inside)) << inside;
  }
  for (const char* outside : {"/a", "..", "../a", "a/../../b", "./../a"}) {
    EXPECT_FALSE(StaysInside(outside)) << outside;
  }
}

TEST(ChunkManifest, HostileJson) {
  for (const char* text :
       {"null", "[]", "{}", R"({"chunks": 3})", R"({"chunks": [null, 1]})",
        R"({"chunks": [{"chunk_index": "x"}, {"uri": 4}]})",
        R"({"chunks": [{"chunk_index": 0, "length_T": 18446744073709551615},
                       {"chunk_index": 1, "length_T": 2}],
            "total_timesteps": 1})",
        R"({"chunks": [{"chunk_index": 0,
                        "timestep_range": [0, 18446744073709551615]},
                       {"chunk_index": 1, "timestep_range": [0, 1]}]})"}) {
    EXPECT_FALSE(
        ChunkManifest::Parse(Json::parse(text), Request()).faults.empty())
        << text;
  }
  EXPECT_TRUE(ChunkManifest::Parse(Json::parse(R"({"chunks": []})"), Request())
                  .faults.empty());
}

Content LiteralOf(const std::string& text) {
  Content content;
  content.Append(Literal{std::make_shared<const std::string>(text)},
                 text.size());
  return content;
}

TEST(GlobalTicks, AnyWindow) {
  std::string local;
  std::string global;
  const auto add = [](std::string& to, uint32_t value) {
    for (int i = 0; i < 4; ++i) to += static_cast<char>(value >> (8 * i));
  };
  for (uint32_t i = 0; i < 10; ++i) {
    add(local, i % 4);
    add(global, i < 4 ? 1000 + i : i < 8 ? 70'000 + i - 4 : i - 8);
  }
  // Two extents that part a tick.
  Content parts = LiteralOf(local.substr(0, 17));
  parts.Append(LiteralOf(local.substr(17)));
  Content content;
  content.Append(Computed{std::make_shared<GlobalTicks>(
                              parts,
                              std::vector<GlobalTicks::Piece>{
                                  {4, 1000}, {4, 5}, {8, 70'000}, {10, 0}}),
                          0},
                 local.size());
  BlockCache cache(0);
  for (size_t at = 0; at < global.size(); ++at) {
    for (size_t length = 1; at + length <= global.size(); ++length) {
      Window window;
      ASSERT_TRUE(Ok(content.Read(at, length, cache, window)));
      std::string part;
      for (const Bytes slice : window.slices()) part += AsText(slice);
      ASSERT_EQ(part, global.substr(at, length)) << at << " " << length;
    }
  }
}

TEST(GlobalTicks, ThatDoNotFitFail) {
  BlockCache cache(0);
  for (const uint64_t start : {uint64_t{1} << 31, UINT64_MAX}) {
    const GlobalTicks ticks(LiteralOf(std::string(4, '\0')), {{1, start}});
    Buffer out(4);
    EXPECT_TRUE(Fails(ticks.Compute(0, out.span(), cache), Code::kLimit));
  }
}

}  // namespace
}  // namespace ctxfs::wshard
