// SPDX-License-Identifier: Apache-2.0
//
// Vector indexes by bytes made for them. Real ones are in
// golden/shard-profiles.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/model_shard_builder.h"

namespace ctxfs::vector_index {
namespace {

constexpr uint8_t kRole = 0x10;

std::shared_ptr<const Container> Index(std::vector<ShardEntry> entries) {
  return Model(std::move(entries), Json::object(), kRole);
}

ShardEntry Meta(const Json& dim, const Json& count = 2,
                const Json& version = 2) {
  const Json meta = {{"index_type", "FLAT"},
                     {"dim", dim},
                     {"count", count},
                     {"version", version}};
  return Raw("col/meta", meta.dump());
}

/// Two rows of an id and a vector of one element.
const std::string kRows =  // NOLINT(cert-err58-cpp)
    "id000001"
    "AAAA"
    "id000002"
    "BBBB";

std::vector<std::string> ArrayPaths(const Container& index) {
  return Paths(index.shared_from_this(), "views/arrays/");
}

Result<std::string> ReadArray(const std::shared_ptr<const Container>& index,
                              const std::string& name) {
  const ContainerTree tree(index);
  BlockCache cache(1 << 20);
  const auto node = Find(tree, "views/arrays/" + name);
  if (!node) return Error{Code::kNotFound, name};
  const Content content = CTXFS_TRY(tree.Open(*node, cache));
  return ReadAll(content, cache);
}

TEST(VectorIndex, Item41_3_RowsAreSplitIntoIdsAndVectors) {
  for (ShardEntry rows :
       {Raw("col/vectors", kRows), ZstdEntry("col/vectors", kRows),
        Lz4Entry("col/vectors", kRows)}) {
    const auto index =
        Index({Meta(1), std::move(rows), Raw("col/deleted", "id000002")});
    EXPECT_EQ(*ReadArray(index, "ids"), "id000001id000002");
    EXPECT_EQ(*ReadArray(index, "vectors"), "AAAABBBB");
    EXPECT_EQ(*ReadArray(index, "deleted"), "id000002");
    const Json info = index->Info(LoneContext());
    EXPECT_EQ(info["warnings"], Json::array());
    EXPECT_EQ(info["n"], 2);
    EXPECT_EQ(info["dim"], 1);
    EXPECT_EQ(info["deleted"], 1);
    EXPECT_EQ(info["index_type"], "FLAT");
  }
}

TEST(VectorIndex, Item41_3_ADamagedRowIsServedByNoArray) {
  ShardEntry rows = Raw("col/vectors", kRows);
  rows.stored.back() = 'C';
  const auto index = Index({Meta(1), std::move(rows)});
  for (const char* name : {"ids", "vectors"}) {
    const Result<std::string> bytes = ReadArray(index, name);
    ASSERT_FALSE(bytes) << name;
    EXPECT_EQ(bytes.error().code, Code::kChecksum);
  }
}

TEST(VectorIndex, Item41_3_ADimensionThatCannotBeMakesNoArrays) {
  for (const Json& dim :
       {Json(), Json("1"), Json(1.0), Json(0), Json(-1), Json(true),
        Json((1 << 20) + 1), Json(uint64_t{1} << 61),
        Json((uint64_t{1} << 62) - 1), Json(INT64_MIN), Json(UINT64_MAX),
        Json::array({1})}) {
    const auto index = Index(
        {Meta(dim), Raw("col/vectors", kRows), Raw("col/deleted", "id000002")});
    EXPECT_EQ(ArrayPaths(*index), std::vector<std::string>{"deleted"}) << dim;
    EXPECT_EQ(WarningsAbout(*index, "dim is "), 1U) << dim;
    EXPECT_FALSE(index->Info(LoneContext()).contains("n")) << dim;
  }
  const std::string largest(8 + 4 * (size_t{1} << 20), 'x');
  EXPECT_EQ(ArrayPaths(*Index({Meta(1 << 20, 1), Raw("col/vectors", largest)})),
            (std::vector<std::string>{"ids", "vectors"}));
}

TEST(VectorIndex, Item41_3_SizesOfEntriesAndNotClaimsCount) {
  const auto counted = Index({Meta(1, 99), Raw("col/vectors", kRows)});
  EXPECT_EQ(WarningsAbout(*counted, "count is 99, and there are 2 rows"), 1U);
  EXPECT_EQ(counted->Info(LoneContext())["n"], 2);
  const auto odd = Index({Meta(1), Raw("col/vectors", kRows + "x"),
                          Raw("col/deleted", "id0000021")});
  EXPECT_TRUE(ArrayPaths(*odd).empty());
  EXPECT_EQ(WarningsAbout(*odd, "ids and vectors are not shown"), 1U);
  EXPECT_EQ(WarningsAbout(*odd, "it is not shown"), 1U);
  const auto empty = Index({Meta(4, 0)});
  EXPECT_TRUE(ArrayPaths(*empty).empty());
  EXPECT_EQ(empty->Info(LoneContext())["warnings"], Json::array());
}

TEST(VectorIndex, Item41_3_OtherLayoutsHaveNoArrays) {
  EXPECT_TRUE(
      ArrayPaths(*Index({Meta(1, 2, 1), Raw("col/vectors", kRows)})).empty());
  for (const char* meta : {"", "{", "[]", "7", "{} x"}) {
    const auto index = Index({Raw("col/meta", meta), Raw("col/vectors", kRows),
                              Raw("col/deleted", "id000002")});
    EXPECT_TRUE(ArrayPaths(*index).empty()) << meta;
    EXPECT_EQ(WarningsAbout(*index, "no arrays are shown"), 1U) << meta;
    EXPECT_EQ(*ReadEntry(*index, 1), kRows);
  }
  const auto none = Index({Raw("col/vectors", kRows)});
  EXPECT_EQ(WarningsAbout(*none, "neither an entry 'col/meta' nor 'meta'"), 1U);
  const auto other = Model({Meta(1), Raw("col/vectors", kRows)}, Json::object(),
                           /*role=*/9);
  EXPECT_TRUE(ArrayPaths(*other).empty());
}

TEST(VectorIndex, Item41_3_TheDimensionOfASingleEntryIsTold) {
  const auto index =
      Index({Raw("meta", R"({"index_type":"HNSW","version":1,"dim":8})"),
             Raw("index_data", "{}")});
  const Json info = index->Info(LoneContext());
  EXPECT_EQ(info["layout"], "monolithic");
  EXPECT_EQ(info["dim"], 8);
  EXPECT_FALSE(info.contains("n"));
  EXPECT_EQ(info["warnings"], Json::array());
}

}  // namespace
}  // namespace ctxfs::vector_index
