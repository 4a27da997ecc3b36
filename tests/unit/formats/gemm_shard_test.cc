// SPDX-License-Identifier: Apache-2.0
//
// GemmShard by bytes made for it. Real matrices are in
// tests/mount/test_conventions.py.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/model_shard/tensor_v1.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/model_shard_builder.h"

namespace ctxfs::gemm_shard {
namespace {

TEST(GemmShard, NamesOfTilesAreNumbersAndGridsFull) {
  const std::string tile = Tensor(kF32, {1, 1}, Floats(1));
  const auto gemm = [&](std::initializer_list<const char*> names) {
    std::vector<ShardEntry> entries;
    for (const char* name : names) entries.push_back(Raw(name, tile));
    return Paths(Model(std::move(entries), Json::object(), shard::kGemmRole),
                 "views/matrices/");
  };
  EXPECT_EQ(gemm({"A/0,0"}), std::vector<std::string>{"A"});
  EXPECT_EQ(gemm({"A/B/0,0", "A/B/0,1"}), std::vector<std::string>{"A/B"});
  EXPECT_TRUE(gemm({"A/0,1"}).empty());
  EXPECT_TRUE(gemm({"A/0,0", "A/1,1"}).empty());
  for (const char* name :
       {"0,0", "/0,0", "A/0", "A/0,", "A/,0", "A/00,0", "A/0,+0", "A/0, 0",
        "A/-0,0", "A/0,0,0", "A/0x0,0", "A/4294967295,4294967295",
        "A/4294967296,0", "A/99999999999999999999,0"}) {
    EXPECT_TRUE(gemm({name}).empty()) << name;
  }
}

TEST(GemmShard, TilesThatDoNotFitMakeNoMatrix) {
  const auto matrix = [](std::string first, std::string second) {
    const auto gemm =
        Model({Raw("A/0,0", std::move(first)), Raw("A/1,0", std::move(second))},
              Json::object(), shard::kGemmRole);
    const bool there = !Paths(gemm, "views/matrices/").empty();
    EXPECT_EQ(WarningsAbout(*gemm, "A: no matrix"), there ? 0U : 1U);
    return there;
  };
  const std::string tile = Tensor(kF32, {2, 2}, Floats(4));
  EXPECT_TRUE(matrix(tile, tile));
  EXPECT_TRUE(matrix(tile, Tensor(kF32, {1, 2}, Floats(2))));
  EXPECT_FALSE(matrix(Tensor(kF32, {1, 2}, Floats(2)), tile));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {2, 1}, Floats(2))));
  EXPECT_FALSE(matrix(tile, Tensor(kI64, {2, 2}, std::string(32, '\0'))));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {4}, Floats(4))));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {0, uint64_t{1} << 62}, "")));
  EXPECT_FALSE(matrix(tile, "no tensor at all"));
}

/// A matrix of `tiles` tiles in one row, whose last is no tensor.
std::vector<ShardEntry> Row(int tiles) {
  const std::string tile = Tensor(kF32, {1, 1}, Floats(1));
  std::vector<ShardEntry> entries;
  for (int i = 0; i < tiles; ++i) {
    entries.push_back(Raw("A/0," + std::to_string(i),
                          i + 1 == tiles ? std::string("no tensor") : tile));
  }
  return entries;
}

TEST(GemmShard, MakingItsArraysStopsWhenItIsInterrupted) {
  const auto gemm = Model(Row(10'000), Json::object(), shard::kGemmRole);
  BlockCache cache(0);
  const InterruptAfter interrupt(3);
  const Exports exports = gemm->Export();
  const auto arrays = exports.arrays(ReadContext(cache, interrupt));
  EXPECT_LT(arrays.size(), 1000U) << "they stand for 256 headers a check";
  EXPECT_LT(interrupt.asked(), 10U);
}

TEST(GemmShard, FittingAMatrixStopsWhenItIsInterrupted) {
  const auto gemm = Model(Row(10'000), Json::object(), shard::kGemmRole);
  const auto matrices = TableWith(*gemm, "views/matrices/A");
  ASSERT_NE(matrices, nullptr);
  BlockCache cache(0);
  const InterruptAfter interrupt(3);
  const auto opened = matrices->Open(0, ReadContext(cache, interrupt));
  EXPECT_TRUE(Fails(opened, Code::kInterrupted));
}

TEST(GemmShard, InfoReadsTheHeadersOfSoManyTiles) {
  const auto few = Model(Row(4096), Json::object(), shard::kGemmRole);
  EXPECT_EQ(WarningsAbout(*few, "A: no matrix"), 1U);
  const auto source = std::make_shared<FaultySource>(
      BuildShard({.entries = Row(10'000), .role = shard::kGemmRole}));
  const auto many = OpenContainer(source, {});
  ASSERT_TRUE(Ok(many));
  source->ForgetAccesses();
  EXPECT_EQ(WarningsAbout(**many, "A: no matrix"), 0U);
  EXPECT_LE(source->bytes_read(),
            4096 * model_shard::TensorHeader::kMaxBytes + 4096);
}

}  // namespace
}  // namespace ctxfs::gemm_shard
