// SPDX-License-Identifier: Apache-2.0
//
// What golden/mds has no data set for: headers and indexes that lie, limits.
#include "core/formats/mds/mds.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/heap/heap_meter.h"
#include "core/formats/mds/limits.h"
#include "core/formats/mds/sample_reader.h"
#include "core/io/directory.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::mds {
namespace {

using std::literals::operator""s;

std::string ShardJson(const std::string& columns, uint64_t samples,
                      uint64_t bytes, const std::string& more = "") {
  return "{" + columns + ", \"compression\": null, \"format\": \"mds\"" + more +
         ", \"raw_data\": {\"basename\": \"s\", \"bytes\": " +
         std::to_string(bytes) +
         ", \"hashes\": {}}, \"samples\": " + std::to_string(samples) +
         ", \"version\": 2, \"zip_data\": null}";
}

std::string Columns(const std::string& name, const std::string& encoding,
                    const std::string& size) {
  return "\"column_encodings\": [\"" + encoding + "\"], \"column_names\": [\"" +
         name + "\"], \"column_sizes\": [" + size + "]";
}

Result<Index> Parse(const std::string& shards) {
  return ParseIndex("{\"version\": 2, \"shards\": [" + shards + "]}",
                    LoneContext());
}

Error RefusalOf(const std::string& shards) {
  const Result<Index> index = Parse(shards);
  return index ? Error{Code::kIo, "no error"} : index.error();
}

TEST(MdsIndex, AddsShardsUp) {
  const Result<Index> index =
      Parse(ShardJson(Columns("a", "int", "8"), 0, 8) + "," +
            ShardJson(Columns("b", "str", "null"), 2, 40) + "," +
            ShardJson(Columns("c", "str", "null"), 3, 40));
  ASSERT_TRUE(index) << index.error().Text();
  EXPECT_EQ(index->samples, 5U);
  // The first shard has other columns, but no samples.
  ASSERT_EQ(index->columns.size(), 1U);
  EXPECT_EQ(index->columns[0].name, "b");
  EXPECT_FALSE(index->shards[1].other_columns);
  EXPECT_TRUE(index->shards[2].other_columns);
  EXPECT_EQ(index->shards[2].first, 2U);
}

TEST(MdsIndex, RefusesWhatLies) {
  const auto code = [](const std::string& columns, uint64_t samples,
                       uint64_t bytes) {
    return RefusalOf(ShardJson(columns, samples, bytes)).code;
  };
  EXPECT_EQ(code(Columns("a", "int", "4"), 1, 20), Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "int", "null"), 1, 20), Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "str", "4"), 1, 20), Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "ndarray:float32:2,0", "8"), 1, 20),
            Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "ndarray:float33", "null"), 1, 20),
            Code::kCorrupt);
  // 2^62 elements of 4 bytes are no uint64.
  EXPECT_EQ(
      code(Columns("a", "ndarray:float32:4611686018427387904", "0"), 1, 20),
      Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "int", "8.0"), 1, 20), Code::kCorrupt);
  EXPECT_EQ(code(Columns("a", "int", "8"), 4, 23), Code::kLimit);
  EXPECT_EQ(code(Columns("a", "int", "8"), 2, 31), Code::kLimit);
  EXPECT_EQ(code(Columns("a", "ndarray:uint8:1000000", "1000000"), 1, 1000),
            Code::kLimit);
  EXPECT_EQ(code(Columns("a", "int", "8"), kMaxSamples + 1, UINT64_MAX),
            Code::kLimit);
  EXPECT_EQ(
      RefusalOf(ShardJson(Columns("a", "int", "8"), 1, 20, ", \"version\": 3"))
          .code,
      Code::kIo);  // of two versions the last counts
  EXPECT_EQ(RefusalOf("[]").code, Code::kCorrupt);
  EXPECT_EQ(RefusalOf("{}").code, Code::kCorrupt);
}

TEST(MdsIndex, IsRecognisedByItsStart) {
  EXPECT_TRUE(StartsIndex(AsBytes("{\"shards\": [{\"column_encodings\": [")));
  EXPECT_TRUE(StartsIndex(AsBytes(" {\"shards\": [{\"format\": \"mds\",")));
  EXPECT_FALSE(StartsIndex(AsBytes("{\"shards\": [{\"format\": \"json\",")));
  EXPECT_FALSE(StartsIndex(AsBytes("{\"shards\": [{\"columns\": {}")));
  EXPECT_FALSE(StartsIndex(AsBytes("[{\"shards\": []}]")));
}

TEST(MdsValues, ArraysMustFillTheirBytes) {
  const Column any = *MakeColumn("a", "ndarray", std::nullopt);
  const auto parse = [&](const std::string& value) {
    return ParseArray(any, AsBytes(value), value.size());
  };
  // u16 [2, 3] with dimensions of one byte.
  const Result<StoredArray> array = parse("\x10\x08\x02\x03"s + "abcdefghijkl");
  ASSERT_TRUE(array);
  EXPECT_EQ(array->shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(array->dtype, DType::kU16);
  EXPECT_EQ(array->offset, 4U);
  EXPECT_FALSE(parse("\x10\x08\x02\x03"s + "abcdefghijk"));
  EXPECT_FALSE(parse("\x10\x08\x02"s));
  EXPECT_FALSE(parse("\x0A\x04\x01\x00"s));
  EXPECT_FALSE(parse(""));
  // Dimensions whose product is 2^64.
  EXPECT_FALSE(parse("\x08\x0B"s + std::string(7, '\0') + "\x80" + "\x02" +
                     std::string(7, '\0')));
}

TEST(MdsValues, ListsMustFillTheirBytes) {
  const Column list = *MakeColumn("a", "list[png]", std::nullopt);
  const auto parse = [&](const std::string& value) {
    return ParseList(list, AsBytes(value), value.size());
  };
  const auto items = parse("\0\0\0\0\2\0\0\0\1\0\0\0\2\0\0\0abc"s);
  ASSERT_TRUE(items);
  EXPECT_EQ(*items, (std::vector<uint64_t>{16, 17, 19}));
  EXPECT_EQ(*parse("\0\0\0\0\0\0\0\0"s), std::vector<uint64_t>{8});
  EXPECT_FALSE(parse("\0\0\0\0\2\0\0\0\1\0\0\0\3\0\0\0abc"s));
  EXPECT_FALSE(parse("\1\0\0\0\0\0\0\0"s));
  EXPECT_FALSE(parse("\0\0\0\0\xFF\xFF\xFF\xFF"s));
  EXPECT_FALSE(parse("\0\0\0"s));
}

/// Opens a data set of one shard without hashes.
Result<std::shared_ptr<const Container>> OpenSet(const TempDir& dir,
                                                 const std::string& index) {
  dir.Write("index.json", "{\"version\": 2, \"shards\": [" + index + "]}");
  return OpenContainer(*OpenSource(dir.Path("")), OpenOptions());
}

TEST(Mds, AShortIndexOfManySamplesCostsLittle) {
  const TempDir dir;
  dir.Write("s", "0123456789");
  const HeapMeter meter;
  const auto opened =
      OpenSet(dir, ShardJson(Columns("a", "bytes", "null"), 4'000'000'000,
                             UINT32_MAX * uint64_t{8}));
  ASSERT_TRUE(opened) << opened.error().Text();
  EXPECT_LT(meter.bytes(), 256U * 1024);
  EXPECT_EQ((*opened)->warnings().size(), 1U);
}

TEST(Mds, SamplesAroundAWrongOffsetAreDamaged) {
  const TempDir dir;
  // Five samples of a byte; the offset of sample 2 is below that of sample 1.
  std::string shard;
  AppendLe<uint32_t>(5, shard);
  for (const uint32_t offset : {28U, 29U, 28U, 31U, 32U, 33U}) {
    AppendLe<uint32_t>(offset, shard);
  }
  shard += "abcde";
  dir.Write("s", shard);
  const auto opened =
      OpenSet(dir, ShardJson(Columns("a", "uint8", "1"), 5, shard.size()));
  ASSERT_TRUE(opened) << opened.error().Text();
  const auto& set = dynamic_cast<const MdsContainer&>(**opened);
  BlockCache cache(0);
  const ReadContext context(cache);
  auto reader = SampleReader::Open(set.shards(), 0, context);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->Find(0));
  EXPECT_FALSE(reader->Find(1));
  EXPECT_FALSE(reader->Find(2));
  EXPECT_TRUE(reader->Find(3));
  EXPECT_TRUE(reader->Find(4));
  const auto table = (*opened)->Entries();
  const auto column = table->Open(0, context);
  ASSERT_TRUE(column);
  EXPECT_EQ(*ReadAll(column->Slice(3, 2), context), "de");
  EXPECT_FALSE(ReadAll(*column, context));
  uint64_t budget = 1000;
  EXPECT_TRUE(column->HasUnreadable(budget, context));
}

TEST(Mds, Item45_3_ACheckKeepsFewFaultsOfManySamples) {
  const TempDir dir;
  constexpr uint32_t kSamples = 100'000;
  // All samples are empty, without the size of their list.
  std::string shard;
  AppendLe(kSamples, shard);
  for (uint32_t i = 0; i <= kSamples; ++i) AppendLe(8 + 4 * kSamples, shard);
  shard.append(4 * size_t{kSamples}, '\0');
  dir.Write("s", shard);
  const auto opened = OpenSet(dir, ShardJson(Columns("a", "list[png]", "null"),
                                             kSamples, shard.size()));
  ASSERT_TRUE(opened) << opened.error().Text();
  BlockCache cache(0);
  const auto faults = (*opened)->Inspect(ReadContext(cache));
  EXPECT_GE(faults.size(), kMaxWarnings);
  EXPECT_LE(faults.size(), 2 * kMaxWarnings);
}

TEST(Mds, AShardThatIsReplacedIsStale) {
  const TempDir dir;
  std::string shard;
  for (const uint32_t word : {1U, 12U, 13U}) AppendLe<uint32_t>(word, shard);
  shard += "a";
  dir.Write("s", shard);
  const auto opened =
      OpenSet(dir, ShardJson(Columns("a", "uint8", "1"), 1, shard.size()));
  ASSERT_TRUE(opened);
  const auto table = (*opened)->Entries();
  BlockCache cache(0);
  const auto column = table->Open(0, cache);
  ASSERT_TRUE(column);
  std::filesystem::remove(dir.Path("s"));
  dir.Write("s", shard);
  const auto read = ReadAll(*column, cache);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kStale);
}

}  // namespace
}  // namespace ctxfs::mds
