// SPDX-License-Identifier: Apache-2.0
//
// GemmShard by bytes made for it. Real matrices are in
// tests/golden/conventions_golden_test.cc.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/testing/model_shard_builder.h"

namespace ctxfs {
namespace {

TEST(GemmShard, NamesOfTilesAreNumbersAndGridsFull) {
  const std::string tile = Tensor(kF32, {1, 1}, Floats(1));
  const auto gemm = [&](std::initializer_list<const char*> names) {
    std::vector<ShardEntry> entries;
    for (const char* name : names) entries.push_back(Raw(name, tile));
    return Paths(Model(std::move(entries), Json::object(), kGemmRole),
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
              Json::object(), kGemmRole);
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

}  // namespace
}  // namespace ctxfs
