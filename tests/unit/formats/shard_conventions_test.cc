// SPDX-License-Identifier: Apache-2.0
//
// What the conventions of a Shard say, by bytes made for it. Real keys are in
// tests/mount/test_conventions.py.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/container/format.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/model_shard_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::shard {
namespace {

OpenOptions WithKey() {
  OpenOptions options;
  options.key =
      std::make_shared<const MasterKey>(AsBytes(std::string(32, 'k')));
  return options;
}

TEST(Sealed, IsLockedWithoutAKeyInEveryRole) {
  constexpr uint8_t kRoles[] = {0, 1, 2, 3, 5, 6, 7, 8, 16};
  for (const uint8_t role : kRoles) {
    const auto shard = Model({Raw("x", std::string(40, 'x'))},
                             {{"x", {{"encryption", Seal()}}}}, role);
    EXPECT_TRUE(EntryLocked(*shard, 0));
    EXPECT_EQ(EntrySize(*shard, 0), 12U);
    EXPECT_TRUE(Fails(ReadEntry(*shard, 0), Code::kLocked));
    const auto open = Model({Raw("x", std::string(40, 'x'))},
                            {{"x", {{"encryption", Seal()}}}}, role, WithKey());
    EXPECT_FALSE(EntryLocked(*open, 0));
    EXPECT_TRUE(Fails(ReadEntry(*open, 0), Code::kChecksum));
    EXPECT_TRUE(Fails(ReadEntry(*open, 0), Code::kChecksum)) << "remembered";
  }
}

TEST(Sealed, PayloadsThatAreTooShortHoldNothing) {
  for (const size_t size : {0U, 1U, 27U, 28U}) {
    const auto shard = Model({Raw("x", std::string(size, 'x'))},
                             {{"x", {{"encryption", Seal()}}}}, 1, WithKey());
    EXPECT_EQ(EntrySize(*shard, 0), 0U);
    BlockCache cache(1 << 20);
    const Result<Content> content = OpenEntry(*shard, 0);
    ASSERT_TRUE(Ok(content));
    EXPECT_FALSE(content->Verify(cache)) << size;
  }
}

TEST(Sealed, ClaimedSizesAreLimited) {
  Json seal = Seal();
  seal["inner_codec"] = "zstd";
  for (const uint64_t size : {uint64_t{1} << 31, UINT64_MAX}) {
    seal["inner_size"] = size;
    const auto shard = Model({Raw("x", std::string(40, 'x'))},
                             {{"x", {{"encryption", seal}}}}, 1, WithKey());
    EXPECT_EQ(EntrySize(*shard, 0), 0U);
    EXPECT_TRUE(Fails(OpenEntry(*shard, 0), Code::kLimit));
  }
}

TEST(Sealed, WhatDoesNotParseIsRawAndSaysSo) {
  Json rotten = Json::array({5, "x", Json::array(), nullptr});
  for (const char* key : {"scheme", "kdf", "salt", "inner_codec"}) {
    for (const Json& value : {Json("other"), Json(1), Json()}) {
      rotten.push_back(Seal());
      rotten.back()[key] = value;
    }
  }
  rotten.push_back(Seal());
  rotten.back()["info"] = 5;
  rotten.push_back(Seal());
  rotten.back()["inner_codec"] = "lz4";  // and no inner_size
  rotten.push_back(rotten.back());
  rotten.back()["inner_size"] = -1;
  for (const Json& seal : rotten) {
    const auto shard =
        Model({Raw("x", "raw")}, {{"x", {{"encryption", seal}}}});
    EXPECT_FALSE(EntryLocked(*shard, 0)) << seal;
    EXPECT_EQ(*ReadEntry(*shard, 0), "raw");
    EXPECT_EQ(WarningsAbout(*shard, "entry 0 'x': encryption: "), 1U) << seal;
  }
  for (const Json& said : {Json(5), Json("x"), Json::array({1})}) {
    const auto shard = Model({Raw("x", "raw")}, {{"x", said}});
    EXPECT_EQ(WarningsAbout(*shard, "entry 0 'x': ctxfs: no object"), 1U);
  }
}

TEST(Conventions, AreReadHoweverTheyAreWritten) {
  const std::string seal = Seal().dump();
  const auto sealed = [&](const std::string& metadata) {
    const auto opened = OpenSpec(
        {.entries = {Raw("x", std::string(40, 'x'))}, .metadata = metadata});
    EXPECT_TRUE(Ok(opened));
    return EntryLocked(**opened, 0);
  };
  const auto at = [&](const std::string& encryption) {
    return R"({"entry_metadata": {"x": {"extra": {"ctxfs": {"encryption": )" +
           encryption + "}}}}}";
  };
  EXPECT_TRUE(sealed(at(seal)));
  EXPECT_TRUE(sealed(at(seal) + " \n trailing"));
  EXPECT_TRUE(sealed(
      R"({"entry_metadata": {"x": {"extra": {"\u0063txfs": {"encryption": )" +
      seal + "}}}}}"));
  EXPECT_FALSE(sealed("[" + at(seal) + "]"));
  EXPECT_FALSE(sealed(at("[" + seal + "]")));
  EXPECT_FALSE(sealed(R"({"ctxfs": {"encryption": )" + seal + "}}"));
  EXPECT_FALSE(sealed(at(seal).substr(0, at(seal).size() - 3))) << "no JSON";
  // Of equal keys the last one holds.
  EXPECT_FALSE(sealed(at(seal + R"(, "encryption": null)")));
  EXPECT_TRUE(sealed(at(R"(5, "encryption": )" + seal)));
  const std::string all = at(seal);
  EXPECT_FALSE(sealed(all.substr(0, all.size() - 1) +
                      R"(, "entry_metadata": {"x": {}}})"));
  EXPECT_FALSE(sealed(all.substr(0, all.size() - 2) + R"(, "x": 1}})"));
}

TEST(Conventions, AreNeverMissedForAFaultOfTheStore) {
  Json metadata;
  metadata["entry_metadata"]["x"]["extra"]["ctxfs"]["encryption"] = Seal();
  const auto source = std::make_shared<FaultySource>(
      BuildShard({.entries = {Raw("x", std::string(40, 'x'))},
                  .metadata = metadata.dump()}));
  ASSERT_TRUE(Ok(OpenContainer(source, {})));
  const uint64_t calls = source->calls();
  for (uint64_t n = 0; n < calls; ++n) {
    source->FailAfter(n);
    const auto opened = OpenContainer(source, {});
    if (opened) {
      EXPECT_TRUE(EntryLocked(**opened, 0)) << n;
    } else {
      EXPECT_TRUE(Fails(opened, Code::kIo)) << n;
    }
    source->Heal();
  }
}

}  // namespace
}  // namespace ctxfs::shard
