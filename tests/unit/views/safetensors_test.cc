// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/safetensors.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/base/sanitized.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

/// The header's JSON, after a look at what stands before it.
Json Header(const SafetensorsLayout& layout) {
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(layout.header[i]);
  }
  EXPECT_EQ(length, layout.header.size() - 8);
  EXPECT_EQ(layout.header.size() % 4096, 0U);
  return Json::parse(layout.header.substr(8));
}

TEST(SafetensorsTest, HeaderIsLengthJsonAndSpaces) {
  const auto layout =
      LayOutSafetensors({Array("w", DType::kBf16, {1, 2}, "abcd")}, nullptr);
  ASSERT_TRUE(layout);
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[1,2],)"
      R"("data_offsets":[0,4]}})";
  ASSERT_EQ(json.size(), 88U);
  EXPECT_EQ(layout->header,
            "\xf8\x0f\0\0\0\0\0\0"s + json + std::string(4000, ' '));
  EXPECT_EQ(layout->size, 4096U + 4);
}

TEST(SafetensorsTest, DataIsContiguousAndAlignedWidestFirst) {
  const auto layout = LayOutSafetensors(
      {Array("odd", DType::kU8, {3}, "abc"),
       Array("half", DType::kF16, {1}, ""), Array("wide", DType::kI64, {1}, ""),
       Array("none", DType::kF64, {0, 9}, ""),
       Array("flag", DType::kBool, {}, "x"), Array("f", DType::kF32, {2}, "")},
      nullptr);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->order, (std::vector<uint32_t>{2, 3, 5, 1, 0, 4}));
  const Json header = Header(*layout);
  EXPECT_EQ(header["wide"]["data_offsets"], Json({0, 8}));
  EXPECT_EQ(header["none"]["data_offsets"], Json({8, 8}));
  EXPECT_EQ(header["f"]["data_offsets"], Json({8, 16}));
  EXPECT_EQ(header["half"]["data_offsets"], Json({16, 18}));
  EXPECT_EQ(header["odd"]["data_offsets"], Json({18, 21}));
  EXPECT_EQ(header["flag"]["data_offsets"], Json({21, 22}));
  EXPECT_EQ(header["flag"]["shape"], Json::array());
  EXPECT_EQ(layout->size, layout->header.size() + 22);
}

TEST(SafetensorsTest, PackedElementsFillTheirLastByte) {
  const auto layout =
      LayOutSafetensors({Array("odd", DType::kF4, {3}, "ab"),
                         Array("even", DType::kF4, {4}, "ab"),
                         Array("six", DType::kF6E2M3, {3}, "abc")},
                        nullptr);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->order, (std::vector<uint32_t>{1}));
  EXPECT_EQ(layout->size, layout->header.size() + 2);
}

TEST(SafetensorsTest, MetadataIsStrings) {
  const auto layout = LayOutSafetensors(
      {}, {{"name", "x"}, {"n", 3}, {"o", {{"k", nullptr}}}, {"format", "tf"}});
  ASSERT_TRUE(layout);
  EXPECT_EQ(Header(*layout), (Json{{"__metadata__",
                                    {{"name", "x"},
                                     {"n", "3"},
                                     {"o", R"({"k":null})"},
                                     {"format", "tf"}}}}));
}

TEST(SafetensorsTest, EqualNamesAreMadeDifferent) {
  std::vector<ArrayInfo> arrays;
  for (const char* name :
       {"a", "a~2", "a", "a", "__metadata__", "\xff", "\xfe", "\"\\\n"}) {
    arrays.push_back(Array(name, DType::kU8, {0}, ""));
  }
  const auto layout = LayOutSafetensors(arrays, nullptr);
  ASSERT_TRUE(layout);
  std::vector<std::string> keys;
  const Json header = Header(*layout);
  for (const auto& [key, value] : header.items()) {
    keys.push_back(key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{
                      "\"\\\n", "__metadata__", "__metadata__~2", "a", "a~2",
                      "a~3", "a~4", "\xEF\xBF\xBD", "\xEF\xBF\xBD~2"}));
}

TEST(SafetensorsTest, NoHeaderIsLongerThanReadersTake) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "takes half a minute there";
  const std::string long_name(50'000'000, 'x');
  EXPECT_TRUE(
      LayOutSafetensors({Array(long_name, DType::kU8, {0}, "")}, nullptr));
  EXPECT_FALSE(LayOutSafetensors({Array(long_name, DType::kU8, {0}, ""),
                                  Array(long_name, DType::kU8, {0}, "")},
                                 nullptr));
}

TEST(SafetensorsTest, ABrokenArrayLeavesOthersReadable) {
  std::vector<ArrayInfo> arrays = {Array("a", DType::kU8, {3}, "abc"),
                                   BrokenArray("b", DType::kU8, {4}),
                                   Array("short", DType::kU8, {5}, "abc"),
                                   Array("c", DType::kU8, {2}, "xy")};
  arrays[3].opening_reads = true;
  Viewed viewed;
  viewed.arrays =
      std::make_shared<const std::vector<ArrayInfo>>(std::move(arrays));
  viewed.container = std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{});
  BlockCache cache(1 << 20);
  ViewTables made;
  ASSERT_TRUE(Ok(AddSafetensorsFile(viewed, "m.safetensors", cache, made)));
  ASSERT_EQ(made.size(), 1U);
  const auto file = made.front();
  const Result<Content> content = file->Open(0, cache);
  ASSERT_TRUE(Ok(content));
  ASSERT_EQ(content->size(), file->KnownSize(0));
  const uint64_t data = content->size() - 14;
  const auto read = [&](uint64_t at, uint64_t length) {
    return ReadAll(content->Slice(data + at, length), cache);
  };
  EXPECT_EQ(*read(0, 3), "abc");
  EXPECT_TRUE(Fails(read(3, 4), Code::kCorrupt, 7));
  EXPECT_TRUE(Fails(read(6, 1), Code::kCorrupt));
  EXPECT_TRUE(Fails(read(7, 5), Code::kCorrupt));
  EXPECT_EQ(*read(12, 2), "xy");
  EXPECT_FALSE(content->Verify(cache));
}

}  // namespace
}  // namespace ctxfs
