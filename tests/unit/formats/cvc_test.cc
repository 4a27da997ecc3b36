// SPDX-License-Identifier: Apache-2.0
//
// Vector collections made by hand, a version and a coding at a time.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/io/source.h"
#include "tests/unit/testing/cvc_builder.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::cvc {
namespace {

TEST(Cvc, ReadsVersion010) {
  const auto container =
      Open(Old(Single(R"("chunks":[{"rows":2}])")) + OldChunk(kHalves));
  ASSERT_TRUE(container) << container.error().Text();
  EXPECT_EQ(Read(*container), kDecoded);
  EXPECT_EQ((*container)->Info(LoneContext())["version"], "0.1");
  EXPECT_EQ(DescribeEntry(**container, 0).verified, "none");
}

TEST(Cvc, ReadsVersion1) {
  const auto container =
      Open(New(Single(R"("chunks":[{"rows":2}])")) + Chunk(kHalves));
  ASSERT_TRUE(container);
  EXPECT_EQ(DescribeEntry(**container, 0).verified, "no");
  EXPECT_EQ(Read(*container), kDecoded);
  EXPECT_EQ(DescribeEntry(**container, 0).verified, "yes");
}

// A header of version 0.1.0 that is 65537 bytes long reads like version 1.1.
TEST(Cvc, TellsALengthFromAVersionByWhereTheJsonIs) {
  for (const uint32_t length : {65537U, 65538U, 131081U}) {
    std::string json = Single(R"("chunks":[{"rows":2}])");
    json.insert(1, std::string(length - json.size(), ' '));
    const auto container = Open(Old(json) + OldChunk(kHalves));
    ASSERT_TRUE(container) << container.error().Text();
    EXPECT_EQ(Read(*container), kDecoded);
  }
  const std::string json = Single(R"("chunks":[{"rows":2}])");
  EXPECT_TRUE(Open(New(json, 0x00070001) + Chunk(kHalves)));
  const auto later = Open(New(json, 3) + Chunk(kHalves));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, Code::kVersion);
  EXPECT_EQ(later.error().offset, 4U);
}

TEST(Cvc, ReadsColumns) {
  const std::string json =
      R"({"format_type":"columnar","num_vectors":2,"chunks":[{"rows":2,)"
      R"("columns":{"t":{"offset":4,"size":8,"compression":"fp16"},)"
      R"("id":{"offset":0,"size":4,"compression":"none"}}}],"columns":[)"
      R"({"name":"t","dimension":2,"dtype":"float32","compression":"fp16"},)"
      R"({"name":"id","dimension":1,"dtype":"uint8","compression":"none"}]})";
  // "id" has four bytes for two rows of one byte.
  const auto wrong = Open(New(json, 2) + Chunk("abcd" + kHalves));
  ASSERT_TRUE(wrong) << wrong.error().Text();
  EXPECT_EQ(Read(*wrong, 0), kDecoded);
  EXPECT_FALSE(OpenEntry(**wrong, 1));
  EXPECT_EQ(EntrySize(**wrong, 1), 0U);
  EXPECT_EQ(ArraysOf(**wrong).size(), 1U);
  EXPECT_EQ((*wrong)->Info(LoneContext())["parts_unreadable"], 1);
}

/// One chunk of two rows: a column "x" as `column` says, of `payload`.
std::string OneColumn(const std::string& column, const std::string& codec,
                      const std::string& payload) {
  const std::string json =
      R"({"format_type":"columnar","num_vectors":2,"chunks":[{"rows":2,)"
      R"("columns":{"x":{"offset":0,"size":)" +
      std::to_string(payload.size()) + R"(,"compression":")" + codec +
      R"("}}}],"columns":[{"name":"x",)" + column + R"(,"compression":")" +
      codec + "\"}]}";
  return New(json, 2) + Chunk(payload);
}

// The writer's reader gives a column of one value a row as (N,), and the only
// column of a file as (N, 1).
TEST(Cvc, AColumnOfScalarsHasOneDimension) {
  using Shape = std::vector<uint64_t>;
  const auto scalars =
      Open(OneColumn(R"("dimension":1,"dtype":"int32")", "none", "abcdefgh"));
  ASSERT_TRUE(scalars) << scalars.error().Text();
  EXPECT_EQ(DescribeEntry(**scalars, 0).shape, Shape{2});
  EXPECT_EQ(ArraysOf(**scalars).at(0).shape, Shape{2});
  const Table table = (*scalars)->Export().table();
  EXPECT_FALSE(table.columns.at(0).list);
  EXPECT_EQ(table.columns[0].per_row, 1U);

  const auto vectors =
      Open(OneColumn(R"("dimension":2,"dtype":"float32")", "fp16", kHalves));
  EXPECT_EQ(DescribeEntry(**vectors, 0).shape, (Shape{2, 2}));
  EXPECT_TRUE((*vectors)->Export().table().columns.at(0).list);

  const auto single =
      Open(New(Single(R"("chunks":[{"rows":2}],"sections":[{"start_index":0,)"
                      R"("end_index":1,"metadata":{"s":"a"}}])",
                      "fp16", 2, 1)) +
           Chunk(kHalves.substr(4)));
  EXPECT_EQ(DescribeEntry(**single, 0).shape, (Shape{2, 1}));
  EXPECT_EQ(ArraysOf(**single).at(0).shape, (Shape{2, 1}));
  EXPECT_TRUE((*single)->Export().table().columns.at(0).list);
  for (const FoundFile& file : FilesOf(**single)) {
    if (!file.path.starts_with("sections/")) continue;
    EXPECT_EQ(file.Describe().shape, (Shape{1, 1}));
  }
}

TEST(Cvc, ElementTypesMayBeUnknown) {
  const auto dtype = Open(
      OneColumn(R"("dimension":1,"dtype":"complex64")", "none", "12345678"));
  ASSERT_TRUE(dtype) << dtype.error().Text();
  EXPECT_EQ(DescribeEntry(**dtype, 0).dtype, "");
  EXPECT_EQ(DescribeEntry(**dtype, 0).note, "the dtype 'complex64' is unknown");
  EXPECT_EQ(DescribeEntry(**dtype, 0).extra["stored_dtype"], "complex64");
  EXPECT_TRUE(ArraysOf(**dtype).empty());
  EXPECT_FALSE(OpenEntry(**dtype, 0));

  const auto codec =
      Open(OneColumn(R"("dimension":1,"dtype":"int32")", "pq8", "12345678"));
  ASSERT_TRUE(codec) << codec.error().Text();
  EXPECT_EQ(DescribeEntry(**codec, 0).dtype, "");
  EXPECT_EQ(DescribeEntry(**codec, 0).note, "the compression 'pq8' is unknown");

  // Halves are halves, whatever the input was.
  const auto halves =
      Open(OneColumn(R"("dimension":2,"dtype":"complex64")", "fp16", kHalves));
  EXPECT_EQ(DescribeEntry(**halves, 0).dtype, "f32");
  EXPECT_EQ(Read(*halves), kDecoded);

  const auto empty = Open(
      New(R"({"format_type":"columnar","num_vectors":0,"chunks":[],"columns":[)"
          R"({"name":"x","dimension":1,"dtype":"c","compression":"none"}]})",
          2));
  ASSERT_TRUE(empty) << empty.error().Text();
  EXPECT_EQ(DescribeEntry(**empty, 0).dtype, "");
  EXPECT_TRUE(ArraysOf(**empty).empty());
}

/// Whether some of an entry is known to be unreadable after looking through
/// `budget` bytes.
bool HasUnreadable(const Container& container, uint64_t budget,
                   const ReadContext& context) {
  const Result<Content> content = OpenEntry(container, 0);
  return content && content->HasUnreadable(budget, context);
}

TEST(Cvc, AChunkThatIsCutTakesNoViewsAway) {
  const std::string file = New(Single(R"("chunks":[{"rows":1},{"rows":1}])")) +
                           Chunk(kHalves.substr(0, 4)) +
                           Chunk(kHalves.substr(4));
  const auto cut = Open(file.substr(0, file.size() - 1));
  ASSERT_TRUE(cut) << cut.error().Text();
  const std::vector<ArrayInfo> arrays = ArraysOf(**cut);
  ASSERT_EQ(arrays.size(), 1U);
  EXPECT_EQ(arrays[0].shape, (std::vector<uint64_t>{2, 2}));
  ASSERT_NE((*cut)->Export().table, nullptr);
  EXPECT_EQ((*cut)->Export().table().columns.size(), 1U);

  BlockCache cache(0);
  const Result<Content> content = arrays[0].open(cache);
  ASSERT_TRUE(content);
  EXPECT_EQ(content->size(), 16U);
  Window window;
  ASSERT_TRUE(content->Read(0, 8, cache, window));
  EXPECT_EQ(AsText(window.slices()[0]), kDecoded.substr(0, 8));
  EXPECT_FALSE(content->Read(8, 1, cache, window));
  EXPECT_FALSE(content->Read(7, 2, cache, window)) << "no short reads";
  EXPECT_TRUE(HasUnreadable(**cut, 0, cache));
  EXPECT_FALSE(HasUnreadable(**Open(file), limits::kMiB, cache));
  // Not a row is left: there is nothing to view.
  const auto none = Open(file.substr(0, file.size() - 13));
  ASSERT_TRUE(none) << none.error().Text();
  EXPECT_TRUE(ArraysOf(**none).empty());
}

TEST(Cvc, WrongChecksumsAreFoundAsFarAsTheBudgetGoes) {
  std::string file = New(Single(R"("chunks":[{"rows":1},{"rows":1}])")) +
                     Chunk(kHalves.substr(0, 4)) + Chunk(kHalves.substr(4));
  file.back() = '!';
  const auto container = Open(file);
  ASSERT_TRUE(container) << container.error().Text();
  BlockCache cache(0);
  EXPECT_FALSE(HasUnreadable(**container, 0, cache));
  EXPECT_FALSE(HasUnreadable(**container, 7, cache));
  EXPECT_TRUE(HasUnreadable(**container, 4, cache))
      << "the first was looked at";
  EXPECT_TRUE(HasUnreadable(**container, 0, cache)) << "nothing is forgotten";
  EXPECT_EQ(ArraysOf(**container).size(), 1U);
  OpenOptions unchecked;
  unchecked.verify = false;
  const auto anyway =
      OpenContainer(std::make_shared<MemorySource>(file), unchecked);
  EXPECT_FALSE(HasUnreadable(**anyway, limits::kMiB, cache));
}

TEST(Cvc, ReadsInt8WithTwoRoundings) {
  const auto container = Open(
      New(Single(R"("chunks":[{"rows":2,"min":-1.1,"scale":0.3}])", "int8")) +
      Chunk(std::string("\x00\x01\x80\xFF", 4)));
  ASSERT_TRUE(container);
  std::vector<float> expected;
  for (const float q : {0.F, 1.F, 128.F, 255.F}) {
    const volatile float product = q * 0.3F;
    expected.push_back(product + -1.1F);
  }
  EXPECT_EQ(Read(*container), Floats(expected));
}

TEST(Cvc, ReadsNoneByItsDtypeAndNaNAsANumber) {
  const std::string data = Floats({1, 2, 3, 4});
  const auto none =
      Open(New(Single(R"("chunks":[{"rows":2}])", "none")) + Chunk(data));
  ASSERT_TRUE(none);
  EXPECT_EQ(Read(*none), data);
  const auto nan =
      Open(New(Single(R"("chunks":[{"rows":2,"min":NaN,"scale":Infinity}])",
                      "int8")) +
           Chunk("abcd"));
  ASSERT_TRUE(nan);
  float value = 0;
  std::memcpy(&value, Read(*nan).data(), 4);
  EXPECT_TRUE(std::isnan(value));
}

/// 1.0F and 2.0F: the low planes are all zero, the high ones have two values.
std::string Lossless() {
  return U32(4) + std::string("\x01\x01\x01\x01", 4) +
         std::string("\x01\x00\x00\x00", 4) +
         std::string("\x01\x00\x00\x00", 4) +
         std::string("\x02\x00\x00\x80\x50", 5) +
         std::string("\x02\x00\x3F\x40\xA0", 5);
}

TEST(Cvc, ReadsLosslessFromAnyByte) {
  const auto container = Open(
      New(Single(R"("chunks":[{"rows":2}])", "lossless")) + Chunk(Lossless()));
  ASSERT_TRUE(container);
  // Plane 2 has codes 0101, plane 3 codes 1010.
  const std::string expected(
      "\x00\x00\x00\x40\x00\x00\x80\x3F"
      "\x00\x00\x00\x40\x00\x00\x80\x3F",
      16);
  EXPECT_EQ(Read(*container), expected);
  const Result<Content> content = OpenEntry(**container, 0);
  BlockCache cache(0);
  Window window;
  for (size_t at = 0; at < 16; ++at) {
    for (size_t size = 1; at + size <= 16; ++size) {
      ASSERT_TRUE(content->Read(at, size, cache, window));
      EXPECT_EQ(AsText(window.slices()[0]), expected.substr(at, size));
    }
  }
}

TEST(Cvc, ALosslessCodeWithoutAValueIsAnError) {
  std::string payload = Lossless();
  payload[12] = 0x10;  // plane 1 has one value; its code 3 is now 1
  payload[11] = 0;
  std::string bytes = New(Single(R"("chunks":[{"rows":2}])", "lossless"));
  const auto container = Open(bytes + Chunk(payload));
  ASSERT_TRUE(container);
  EXPECT_TRUE(Read(*container).starts_with("error: ")) << Read(*container);
}

TEST(Cvc, FollowsFileOffsetsAndSeesWhatIsOverrun) {
  const auto make = [](uint64_t first, uint64_t second) {
    std::string json =
        Single(R"("mmap_optimized":true,"chunks":[{"rows":1,"file_offset":)" +
               std::to_string(first) + R"(},{"rows":1,"file_offset":)" +
               std::to_string(second) + "}]");
    std::string bytes = New(json);
    bytes.resize(400, '\0');
    return bytes + Chunk(kHalves.substr(4)) + Chunk(kHalves.substr(0, 4));
  };
  const auto sound = Open(make(412, 400));
  ASSERT_TRUE(sound) << sound.error().Text();
  EXPECT_EQ(Read(*sound), kDecoded);
  for (const uint64_t bad : {uint64_t{40}, uint64_t{5000}, UINT64_MAX,
                             uint64_t{401}, uint64_t{412}}) {
    const auto container = Open(make(bad, 412));
    ASSERT_TRUE(container);
    const Result<Content> content = OpenEntry(**container, 0);
    BlockCache cache(0);
    Window window;
    // Two equal offsets: the first chunk has the bytes, the other overlaps.
    const bool first = bad == 412;
    EXPECT_EQ(content->Read(0, 8, cache, window).has_value(), first) << bad;
    EXPECT_EQ(content->Read(8, 8, cache, window).has_value(), !first) << bad;
  }
}

TEST(Cvc, RefusesCountsThatContradict) {
  for (const char* more :
       {R"("chunks":[{"rows":1}])", R"("chunks":[{"rows":3}])",
        R"("chunks":[{"rows":-2}])", R"("chunks":[{"rows":2.0}])",
        R"("chunks":{})", R"("chunks":[2])", R"("x":1)",
        R"("chunks":[{"rows":18446744073709551615},{"rows":3}])",
        R"("chunks":[{"rows":2}],"dimension":4611686018427387904)",
        R"("chunks":[{"rows":2}],"format_type":"other")",
        R"("chunks":[{"rows":2,"file_offset":1},{"rows":0}])"}) {
    const auto container = Open(New(Single(more)) + Chunk(kHalves));
    ASSERT_FALSE(container) << more;
    EXPECT_EQ(container.error().code, Code::kCorrupt);
    EXPECT_NE(container.error().offset, kNoOffset);
  }
}

TEST(Cvc, JoinsTheRowsOfAValueAndSaysWhereItCannot) {
  const std::string sections =
      R"("chunks":[{"rows":2}],"sections":[)"
      R"({"start_index":1,"end_index":2,"metadata":{"s":"a/b","n":1}},)"
      R"({"start_index":0,"end_index":1,"metadata":{"s":"a/b","n":"1"}},)"
      R"({"start_index":0,"end_index":9,"metadata":{"s":"x"}}])";
  const auto container = Open(New(Single(sections)) + Chunk(kHalves));
  ASSERT_TRUE(container);
  std::string joined;
  std::set<std::string> paths;
  uint32_t files = 0;
  for (const FoundFile& file : FilesOf(**container)) {
    if (file.path == "header.json") continue;
    ++files;
    paths.insert(file.path);
    if (file.path != "views/sections/s=a/b/vectors") continue;
    BlockCache cache(0);
    joined = *ReadAll(*file.Open(cache), cache);
  }
  EXPECT_EQ(joined, kDecoded.substr(8) + kDecoded.substr(0, 8));
  EXPECT_EQ(paths, (std::set<std::string>{".ctxfs/raw/chunks/00000/vectors",
                                          "views/sections/n=1/vectors",
                                          "views/sections/s=a/b/vectors"}));
  EXPECT_EQ(files, 4U);  // 1 and "1" are two
  EXPECT_FALSE((*container)->Info(LoneContext())["warnings"].empty());
}

TEST(Cvc, Item41_10_ALabelMayBeNoUtf8) {
  const std::string sections =
      R"("chunks":[{"rows":2}],"sections":[)"
      R"({"start_index":0,"end_index":1,"metadata":{"k":["\ud800"]}}])";
  const auto container = Open(New(Single(sections)) + Chunk(kHalves));
  ASSERT_TRUE(container) << container.error().Text();
  EXPECT_NE(FilesOf(**container).size(), 0U);
}

}  // namespace
}  // namespace ctxfs::cvc
