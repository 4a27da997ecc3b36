// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/formats/column_shard/chunk.h"
#include "tests/unit/testing/column_builder.h"

namespace ctxfs::column_shard {
namespace {

using namespace std::string_literals;

/// The decoded bytes, or the error's text.
std::string Values(ColumnType type, const std::string& payload,
                   uint64_t per_row = 1, bool nullable = false) {
  const Result<Chunk> chunk = ParseChunk(AsBytes(payload), type, nullable);
  if (!chunk) return chunk.error().Text();
  std::string out(chunk->count * per_row * ColumnTypeWidth(type), '?');
  Status decoded =
      DecodeFixed(*chunk, per_row,
                  std::as_writable_bytes(std::span(out.data(), out.size())));
  return decoded ? out : decoded.error().Text();
}

std::string Lines(ColumnType type, const std::string& payload,
                  bool nullable = false) {
  const Result<Chunk> chunk = ParseChunk(AsBytes(payload), type, nullable);
  if (!chunk) return chunk.error().Text();
  const Result<Buffer> lines = DecodeLines(*chunk, LoneContext());
  return lines ? std::string(AsText(lines->span())) : lines.error().Text();
}

bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(ColumnChunk, TheTypeDecidesTheCoding) {
  EXPECT_EQ(CodingOf(ColumnType::kBool, 0), ChunkCoding::kRle);
  EXPECT_EQ(CodingOf(ColumnType::kUint64, 3), ChunkCoding::kPlain);
  EXPECT_EQ(CodingOf(ColumnType::kDatetime, 3), ChunkCoding::kDelta);
  EXPECT_EQ(CodingOf(ColumnType::kFloat64, 4), ChunkCoding::kByteStreamSplit);
  EXPECT_EQ(CodingOf(ColumnType::kFloat16, 4), ChunkCoding::kPlain);
  EXPECT_EQ(CodingOf(ColumnType::kString, 1), ChunkCoding::kDictionary);
  EXPECT_EQ(CodingOf(ColumnType::kString, 2), ChunkCoding::kPlain);
  EXPECT_FALSE(CodingOf(ColumnType::kInt8, 5));
  EXPECT_FALSE(ColumnTypeOf(0));
  EXPECT_FALSE(ColumnTypeOf(18));
}

TEST(ColumnChunk, Plain) {
  EXPECT_EQ(Values(ColumnType::kInt16, Payload(0, 2, "abcd")), "abcd");
  EXPECT_TRUE(
      Has(Values(ColumnType::kInt16, Payload(0, 3, "abcd")), "are needed"));
  EXPECT_TRUE(Has(Values(ColumnType::kInt16, "\0\1"s), "header"));
  EXPECT_TRUE(Has(Values(ColumnType::kInt16, Payload(9, 0, "")), "coding 9"));
  EXPECT_EQ(Values(ColumnType::kUuid, Payload(0, 0, "")), "");
}

TEST(ColumnChunk, Split) {
  EXPECT_EQ(Values(ColumnType::kFloat32, Payload(4, 2, "aAbBcCdD")),
            "abcdABCD");
  EXPECT_TRUE(Has(Values(ColumnType::kFloat32, Payload(4, 1, "abcde")),
                  "whole number"));
}

TEST(ColumnChunk, Runs) {
  EXPECT_EQ(Values(ColumnType::kBool, Payload(2, 4, "\x01\x03\x01\x01\x00"s)),
            "\1\1\1\0"s);
  // The last run is cut; anything but 0 is true; a run of none is none.
  EXPECT_EQ(Values(ColumnType::kBool, Payload(2, 2, "\x01\x00\x07\x63\x07"s)),
            "\1\1"s);
  EXPECT_TRUE(Has(Values(ColumnType::kBool, Payload(2, 2, "\x01\x01\x01"s)),
                  "after 1 of 2"));
  EXPECT_TRUE(
      Has(Values(ColumnType::kBool, Payload(2, 1, "\x09\x01\x01"s)), "9 bits"));
}

TEST(ColumnChunk, Delta) {
  const auto delta = [](uint32_t rows, char first, char least, char bits,
                        const std::string& packed) {
    const std::string zeros(7, '\0');
    return Payload(3, rows, first + zeros + least + zeros + bits + packed);
  };
  // Steps of 1 + {1, 2, 7}, three bits each, low end first: 11 010 001.
  const std::string expected =
      "\x05\0\0\0"s + "\x07\0\0\0"s + "\x0A\0\0\0"s + "\x12\0\0\0"s;
  EXPECT_EQ(Values(ColumnType::kInt32, delta(4, 5, 1, 3, "\xD1\x01")),
            expected);
  EXPECT_EQ(Values(ColumnType::kInt64, delta(2, 7, 0, 0, "")),
            "\7\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0"s);
  // Modulo 2^64.
  EXPECT_EQ(
      Values(ColumnType::kInt64, delta(2, 1, 0, 64, std::string(8, '\xFF'))),
      "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s);
  EXPECT_TRUE(
      Has(Values(ColumnType::kInt32, delta(4, 5, 1, 3, "\xD1")), "are needed"));
  EXPECT_TRUE(
      Has(Values(ColumnType::kInt32, delta(2, 5, 1, 65, "123456789")), "65"));
  EXPECT_TRUE(Has(Values(ColumnType::kInt32, Payload(3, 1, "1234")), "17"));
}

TEST(ColumnChunk, VectorsAndTheirNulls) {
  EXPECT_EQ(Values(ColumnType::kFloat32, Payload(0, 1, "aaaabbbb"), 2),
            "aaaabbbb");
  // Rows: valid, null, valid.
  EXPECT_EQ(Values(ColumnType::kFloat32,
                   Payload(0, 3,
                           "\x05"
                           "aaaabbbbnnnnccccdddd"),
                   2, true),
            "aaaabbbbnnnnnnnnccccdddd");
  EXPECT_EQ(Values(ColumnType::kFloat32,
                   Payload(4, 2,
                           "\x02"
                           "nabnabnabnab"),
                   2, true),
            "nnnnnnnnaaaabbbb");
}

TEST(ColumnChunk, Strings) {
  EXPECT_EQ(Lines(ColumnType::kString, Payload(0, 2, "\2\0\0\0a\"\0\0\0\0"s)),
            "\"a\\\"\"\n\"\"\n");
  EXPECT_EQ(Lines(ColumnType::kString, Payload(0, 2, "\x02\1\0\0\0x\1\0\0\0y"s),
                  true),
            "null\n\"y\"\n");
  EXPECT_EQ(Lines(ColumnType::kBytes, Payload(0, 1, "\2\0\0\0\xFF\0"s)),
            "\"/wA=\"\n");
  EXPECT_TRUE(Has(Lines(ColumnType::kString, Payload(0, 1, "\2\0\0\0a"s)),
                  "after 0 of 1"));
}

TEST(ColumnChunk, Dictionary) {
  const std::string words = "\2\0\0\0\1\0\0\0a\1\0\0\0b"s;
  EXPECT_EQ(Lines(ColumnType::kString, Payload(1, 3, words + "\1\0\1"s)),
            "\"b\"\n\"a\"\n\"b\"\n");
  EXPECT_TRUE(Has(Lines(ColumnType::kString, Payload(1, 1, words + "\2")),
                  "string 2 of"));
  EXPECT_TRUE(
      Has(Lines(ColumnType::kString, Payload(1, 2, words + "\1")), "indices"));
  EXPECT_TRUE(Has(
      Lines(ColumnType::kString, Payload(1, 1, "\xFF\xFF\xFF\xFF\0\0\0\0"s)),
      "dictionary of 4294967295"));
}

TEST(ColumnChunk, Validity) {
  const std::string payload = Payload(0, 9, "\x01\x01" + std::string(9, 'x'));
  const Result<Chunk> chunk =
      ParseChunk(AsBytes(payload), ColumnType::kInt8, true);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->ValidRows(), 2U);
  std::string out(9, '?');
  DecodeValidity(*chunk, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(out, "\1\0\0\0\0\0\0\0\1"s);
}

}  // namespace
}  // namespace ctxfs::column_shard
