// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cowrie/cowrie.h"

#include <gtest/gtest.h>

#include "core/formats/cowrie/limits.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/interrupts.h"

namespace ctxfs::cowrie {
namespace {

using namespace std::string_literals;

const std::string kHead = "SJ\x02\x00"s;

/// A value with the dictionary {"a", "bc"}.
std::string Framed(const std::string& value) {
  return kHead + "\x02\x01"s + "a\x02"s + "bc" + value;
}

Json Decoded(const std::string& value) {
  const Result<Json> cowrie = DecodeCowrie(AsBytes(Framed(value)));
  EXPECT_TRUE(cowrie) << cowrie.error().Text();
  return cowrie ? *cowrie : Json("failed");
}

Code CodeOf(const std::string& bytes) {
  const Result<Json> cowrie = DecodeCowrie(AsBytes(bytes));
  EXPECT_FALSE(cowrie);
  return cowrie ? Code::kNotFound : cowrie.error().code;
}

TEST(Cowrie, Scalars) {
  EXPECT_EQ(Decoded("\x00"s), nullptr);
  EXPECT_EQ(Decoded("\x01"s), false);
  EXPECT_EQ(Decoded("\x02"s), true);
  EXPECT_EQ(Decoded("\x03\x03"s), -2);
  EXPECT_EQ(Decoded("\x03\x80\x01"s), 64);
  EXPECT_EQ(Decoded("\x04\0\0\0\0\0\0\xF8\x3F"s), 1.5);
  EXPECT_EQ(Decoded("\x0F\0\0\xC0\x3F"s), 1.5);
  EXPECT_EQ(Decoded("\x05\x02hi"s), "hi");
  EXPECT_EQ(Decoded("\x08\x02\xFF\x00"s), "/wA=");
  EXPECT_EQ(Decoded("\x09\x05"s), 5);
  EXPECT_EQ(Decoded("\x40"s), 0);
  EXPECT_EQ(Decoded("\xBF"s), 127);
  EXPECT_EQ(Decoded("\xE0"s), -1);
  EXPECT_EQ(Decoded("\xEF"s), -16);
}

TEST(Cowrie, IntegersThatJsonReadersRoundAreText) {
  const std::string most = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
  EXPECT_EQ(Decoded("\x09" + most), "18446744073709551615");
  EXPECT_EQ(Decoded("\x03" + most), "-9223372036854775808");
  EXPECT_EQ(Decoded("\x09\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x0F"s), 9007199254740991);
  EXPECT_EQ(Decoded("\x09\x80\x80\x80\x80\x80\x80\x80\x10"s),
            "9007199254740992");
}

TEST(Cowrie, NumbersOfManyDigits) {
  EXPECT_EQ(Decoded("\x0D\x00"s), "0");
  EXPECT_EQ(Decoded("\x0D\x01\xFF"s), "-1");
  EXPECT_EQ(Decoded("\x0D\x02\xFF\x00"s), "-256");
  EXPECT_EQ(Decoded("\x0D\x09\x01\0\0\0\0\0\0\0\0"s), "18446744073709551616");
  const std::string zeros(14, '\0');
  EXPECT_EQ(Decoded("\x0A\x02"s + zeros + "\x30\x39"s), "123.45");
  EXPECT_EQ(Decoded("\x0A\x06"s + zeros + "\x30\x39"s), "0.012345");
  EXPECT_EQ(Decoded("\x0A\xFE"s + zeros + "\x00\x07"s), "700");
  EXPECT_EQ(Decoded("\x0A\x01"s + std::string(16, '\xFF')), "-0.1");
}

TEST(Cowrie, TimesAndUuids) {
  EXPECT_EQ(Decoded("\x0B"s + std::string(8, '\0')), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Decoded("\x0B"s + std::string(8, '\xFF')),
            "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(Decoded("\x0B\0\0\0\0\0\0\0\x80"s),
            "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(Decoded("\x0B\xE8\x03\0\0\0\0\0\0"s),
            "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(Decoded("\x0C"s + std::string(16, '\xAB')),
            "abababab-abab-abab-abab-abababababab");
}

TEST(Cowrie, ArraysAndObjects) {
  EXPECT_EQ(Decoded("\x06\x02\x41\x42"s), Json({1, 2}));
  EXPECT_EQ(Decoded("\xC2\x41\xC0"s), Json::parse("[1,[]]"));
  EXPECT_EQ(Decoded("\x07\x01\x01\x41"s), Json::parse(R"({"bc":1})"));
  EXPECT_EQ(Decoded("\xD2\x00\x41\x00\x42"s), Json::parse(R"({"a":2})"));
  EXPECT_EQ(CodeOf(Framed("\xD1\x02\x41"s)), Code::kCorrupt);
}

TEST(Cowrie, Tensors) {
  const std::string bytes = Framed("\xD1\x01\x20\x08\x02\x02\x01\x02\x07\x09"s);
  const Result<Json> cowrie = DecodeCowrie(AsBytes(bytes));
  ASSERT_TRUE(cowrie) << cowrie.error().Text();
  EXPECT_EQ((*cowrie)["bc"], Json::parse(R"({"_type":"tensor","dtype":"uint8",
                            "shape":[2,1],"data":"Bwk="})"));
  // Too few bytes, a shape that overflows, an unknown type, too many axes.
  EXPECT_EQ(CodeOf(Framed("\x20\x01\x01\x02\x04zzzz"s)), Code::kCorrupt);
  const std::string huge = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01";
  EXPECT_EQ(CodeOf(Framed("\x20\x08\x02" + huge + huge + "\x00"s)),
            Code::kCorrupt);
  EXPECT_EQ(CodeOf(Framed("\x20\x0E\x00\x00"s)), Code::kCorrupt);
  EXPECT_EQ(CodeOf(Framed("\x20\x08\x21"s + std::string(40, '\1'))),
            Code::kLimit);
}

TEST(Cowrie, OtherTypes) {
  EXPECT_EQ(Decoded("\x0E\x07\x01z"s),
            Json::parse(R"({"_type":"unknown_ext","ext_type":7,
                            "payload":"eg=="})"));
  EXPECT_EQ(Decoded("\x21\x03\x01z"s),
            Json::parse(R"({"_type":"tensor_ref","store_id":3,"key":"eg=="})"));
  EXPECT_EQ(Decoded("\x22\x02\x05\0\x06\0\x01z"s),
            Json::parse(R"({"_type":"image","format":"png","width":5,
                            "height":6,"data":"eg=="})"));
  EXPECT_EQ(Decoded("\x23\x01\x40\x1F\0\0\x02\x01z"s),
            Json::parse(R"({"_type":"audio","encoding":"pcm_int16",
                            "sample_rate":8000,"channels":2,"data":"eg=="})"));
  EXPECT_EQ(Decoded("\x24\x09\xFF\x01"s),
            Json::parse(R"({"_type":"bitmask","count":9,"bits":[true,true,true,
                            true,true,true,true,true,true]})"));
  EXPECT_EQ(Decoded("\x30\x01\x02\x01\x00\x01\x01\x09\0\0\0"s),
            Json::parse(R"({"_type":"adjlist","id_width":"int32",
                            "node_count":2,"edge_count":1,
                            "row_offsets":[0,1,1],"col_indices":"CQAAAA=="})"));
  EXPECT_EQ(Decoded("\x31\x01z\x03\x01\x05\0\0\0\x01\x00\x01\x02"s),
            Json::parse(R"({"_type":"richtext","text":"z","tokens":[5],
                            "spans":[{"start":0,"end":1,"kind_id":2}]})"));
  EXPECT_EQ(Decoded("\x32\x04\x02\x01\x00\x41\x02\x01"s),
            Json::parse(R"({"_type":"delta","base_id":4,"ops":[
                            {"op_code":"set_field","field_id":0,"value":1},
                            {"op_code":"delete_field","field_id":1}]})"));
}

TEST(Cowrie, Graphs) {
  const std::string node = "\x01n\x01\x01l\x01\x00\x41"s;
  const std::string edge = "\x01n\x01m\x01t\x00"s;
  Json a_node = Json::parse(
      R"({"_type":"node","id":"n","labels":["l"],"props":{"a":1}})");
  Json an_edge = Json::parse(
      R"({"_type":"edge","from":"n","to":"m","type":"t","props":{}})");
  EXPECT_EQ(Decoded("\x35" + node), a_node);
  EXPECT_EQ(Decoded("\x36" + edge), an_edge);
  a_node.erase("_type");
  an_edge.erase("_type");
  EXPECT_EQ(Decoded("\x37\x01" + node),
            Json({{"_type", "node_batch"}, {"nodes", Json::array({a_node})}}));
  EXPECT_EQ(Decoded("\x38\x01" + edge),
            Json({{"_type", "edge_batch"}, {"edges", Json::array({an_edge})}}));
  EXPECT_EQ(Decoded("\x39\x01" + node + "\x01" + edge + "\x01\x01\x42"),
            Json::parse(R"({"_type":"graph_shard",
                "nodes":[{"id":"n","labels":["l"],"props":{"a":1}}],
                "edges":[{"from":"n","to":"m","type":"t","props":{}}],
                "metadata":{"bc":2}})"));
}

TEST(Cowrie, HintsAreSkipped) {
  const std::string hints = "\x01\x01x\x05\x01\x07\x00"s;
  const Result<Json> cowrie =
      DecodeCowrie(AsBytes("SJ\x02\x08"s + hints + "\x00\x45"s));
  ASSERT_TRUE(cowrie) << cowrie.error().Text();
  EXPECT_EQ(*cowrie, 5);
}

TEST(Cowrie, CompressedFrames) {
  const std::string inner = "\x00\x05\x02hi"s;
  const std::string gzip = Gzip(inner);
  const std::string zstd = Zstd(inner);
  for (const std::string& frame :
       {"SJ\x02\x03\x05"s + gzip, "SJ\x02\x05\x05"s + zstd}) {
    const Result<Json> cowrie = DecodeCowrie(AsBytes(frame));
    ASSERT_TRUE(cowrie) << cowrie.error().Text();
    EXPECT_EQ(*cowrie, "hi");
  }
  // Another length than it says, bytes that follow, a member that is cut.
  EXPECT_EQ(CodeOf("SJ\x02\x03\x06"s + gzip), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ\x02\x03\x04"s + gzip), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ\x02\x03\x05"s + gzip + "x"), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ\x02\x03\x05"s + gzip.substr(0, gzip.size() - 1)),
            Code::kCorrupt);
  std::string damaged = gzip;
  damaged[gzip.size() - 8] ^= 1;  // of its CRC
  EXPECT_EQ(CodeOf("SJ\x02\x03\x05"s + damaged), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ\x02\x05\x06"s + zstd), Code::kCorrupt);
}

/// How often reading `bytes` checks for an interrupt. Interrupts it at a few of
/// the checks as well.
uint64_t ChecksOf(const std::string& bytes) {
  const InterruptAfter never(UINT64_MAX);
  EXPECT_TRUE(DecodeCowrie(AsBytes(bytes), never));
  const uint64_t checks = never.asked();
  for (const uint64_t answers : {uint64_t{0}, checks / 2, checks - 1}) {
    if (checks == 0) break;
    const InterruptAfter soon(answers);
    const Result<Json> cowrie = DecodeCowrie(AsBytes(bytes), soon);
    EXPECT_FALSE(cowrie);
    EXPECT_EQ(cowrie.error().code, Code::kInterrupted);
    EXPECT_LE(soon.asked(), answers + 2);  // a decompressor may ask again
  }
  return checks;
}

TEST(Cowrie, AValueCanBeInterrupted) {
  // 2^18 things of each kind that a small value may have many of.
  const std::string count = "\x80\x80\x10"s;
  constexpr size_t kMany = 1 << 18;
  const auto many = [](const std::string& one) {
    std::string all;
    for (size_t i = 0; i < kMany; ++i) all += one;
    return all;
  };
  constexpr uint64_t kLeast = kMany / 16'384;
  EXPECT_EQ(ChecksOf(Framed("\x40")), 0U);
  const std::string list = Framed("\x06" + count + many("\x41"));
  EXPECT_GE(ChecksOf(list), kLeast);
  EXPECT_GE(ChecksOf(kHead + count + many("\1a"s) + "\x40"), kLeast);
  EXPECT_GE(ChecksOf("SJ\x02\x08\x01\0\0"s + count + many("\1"s) + "\0\0\x40"s),
            kLeast);
  // Bits of a mask.
  EXPECT_GE(ChecksOf(Framed("\x24" + count + std::string(kMany / 8, '\1'))),
            kLeast);
  // Text of 64 bytes is a step.
  EXPECT_GE(
      ChecksOf(Framed("\x08\x80\x80\x80\x04"s + std::string(8 << 20, 'b'))),
      1U);
}

TEST(Cowrie, DecompressionCanBeInterrupted) {
  const std::string inner =
      "\x00\x05\x80\x80\x80\x10"s + std::string(32 << 20, 'x');
  const std::string length = "\x86\x80\x80\x10"s;
  EXPECT_GE(ChecksOf("SJ\x02\x03"s + length + Gzip(inner)), 16U);
  EXPECT_GE(ChecksOf("SJ\x02\x05"s + length + Zstd(inner)), 16U);
}

TEST(Cowrie, WhatIsRefused) {
  EXPECT_EQ(CodeOf(""), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ"), Code::kCorrupt);
  EXPECT_EQ(CodeOf("SJ\x03\x00\x00\x00"s), Code::kVersion);
  EXPECT_EQ(CodeOf(kHead), Code::kCorrupt);
  for (int tag = 0; tag < 256; ++tag) {
    const bool none = (tag > 0x0F && tag < 0x20) ||
                      (tag > 0x24 && tag < 0x30) || tag == 0x33 ||
                      tag == 0x34 || (tag > 0x39 && tag < 0x40) || tag > 0xEF;
    if (!none) continue;
    const std::string value(1, static_cast<char>(tag));
    EXPECT_EQ(CodeOf(Framed(value)), Code::kCorrupt) << tag;
  }
  // Bytes after the value; a value that ends too soon; a count past the end.
  EXPECT_EQ(CodeOf(Framed("\x41\x41"s)), Code::kCorrupt);
  EXPECT_EQ(CodeOf(Framed("\x04zz"s)), Code::kCorrupt);
  EXPECT_EQ(CodeOf(Framed("\x06\xFF\xFF\xFF\xFF\x0F"s)), Code::kCorrupt);
}

TEST(Cowrie, Limits) {
  const std::string deep(kMaxDepth, '\xC1');
  EXPECT_EQ(CodeOf(Framed(deep + "\x41")), Code::kLimit);
  const Result<Json> just =
      DecodeCowrie(AsBytes(Framed(deep.substr(1) + "\x41")));
  EXPECT_TRUE(just) << just.error().Text();
  // A byte for each of too many values: 0x85A0C0 of them.
  const std::string many(0x85A0C0, '\x00');
  EXPECT_EQ(CodeOf(Framed("\x06\xC0\xC1\x96\x04"s + many)), Code::kLimit);
  // A long name, used again and again.
  const std::string name(1 << 21, 'x');
  std::string bomb = kHead + "\x01\x80\x80\x80\x01"s + name + "\x06\xC8\x01"s;
  for (int i = 0; i < 200; ++i) bomb += "\xD1\x00\x41"s;
  EXPECT_EQ(CodeOf(bomb), Code::kLimit);
  // Numbers of many digits, which take more time than bytes.
  const std::string number = "\x0D\x80\x04"s + std::string(512, '\x7F');
  std::string numbers = "\x06\xDC\x0B"s;  // 1500
  for (int i = 0; i < 1500; ++i) numbers += number;
  EXPECT_EQ(CodeOf(Framed(numbers)), Code::kLimit);
  EXPECT_EQ(CodeOf(Framed("\x0D\x81\x04"s + std::string(513, '\1'))),
            Code::kLimit);
  // A frame that claims to be 1 TiB.
  EXPECT_EQ(CodeOf("SJ\x02\x05\x80\x80\x80\x80\x80\x20zzzz"s), Code::kLimit);
  EXPECT_EQ(CodeOf("SJ\x02\x07\x04zzzz"s), Code::kCorrupt);
}

}  // namespace
}  // namespace ctxfs::cowrie
