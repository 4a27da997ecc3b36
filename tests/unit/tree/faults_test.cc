// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/tree/container_tree.h"
#include "core/tree/fault_ledger.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

Json FaultsOf(const ContainerTree& tree) {
  BlockCache cache(1 << 20);
  const auto directory = tree.tree().Lookup(NameTree::kRoot, ".ctxfs");
  const auto node = tree.tree().Lookup(*directory, "faults.json");
  EXPECT_TRUE(node.has_value());
  EXPECT_TRUE(tree.At(*node).table->live());
  const Result<Content> content = tree.Open(*node, cache);
  EXPECT_TRUE(Ok(content));
  return content ? Json::parse(*ReadAll(*content, cache)) : Json();
}

TEST(FaultLedger, CountsAFaultOnceAndKnowsTheLatest) {
  FaultLedger ledger;
  EXPECT_TRUE(ledger.empty());
  const Error first{Code::kChecksum, "checksum mismatch", 64};
  const Error second{Code::kIo, "cannot be read"};
  ledger.Record("a", first);
  ledger.Record("a", second);
  ledger.Record("a", first);
  ledger.Record("b", first);
  EXPECT_FALSE(ledger.empty());
  EXPECT_EQ(ledger.All().size(), 3U);
  EXPECT_EQ(ledger.LatestOf("a")->Text(), first.Text());
  EXPECT_EQ(ledger.LatestOf("c"), std::nullopt);
  EXPECT_EQ(ledger.left_out(), 0U);
}

TEST(FaultLedger, HoldsABoundedNumberAndCountsTheRest) {
  FaultLedger many;
  for (size_t i = 0; i < FaultLedger::kMaxFaults + 5; ++i) {
    many.Record("f" + std::to_string(i), {Code::kCorrupt, "no"});
  }
  EXPECT_EQ(many.All().size(), FaultLedger::kMaxFaults);
  EXPECT_EQ(many.left_out(), 5U);
  FaultLedger large;
  for (int i = 0; i < 200; ++i) {
    large.Record(std::to_string(i) + std::string(1 << 16, 'n'),
                 {Code::kCorrupt, "no"});
  }
  EXPECT_LT(large.All().size(), 200U) << "names of 64 KiB";
  EXPECT_EQ(large.All().size() + large.left_out(), 200U);
}

TEST(FaultsJson, IsEmptyForASoundContainer) {
  const auto shard = OpenContainer(
      std::make_shared<MemorySource>(BuildShard({{Raw("a", "hello")}})), {});
  ASSERT_TRUE(Ok(shard));
  EXPECT_EQ(FaultsOf(ContainerTree(*shard)), Json::array());
}

TEST(FaultsJson, HasFaultsOfTheContainerAndFailedReads) {
  const auto fake =
      std::make_shared<FakeContainer>(FakeContainer::Names{"a", "b"});
  fake->Warn({"the index is cut", 40, Severity::kDamage});
  fake->Warn({"only odd", 50});
  fake->Warn({"no table", kNoOffset, Severity::kDamage});
  fake->files = {
      RefusedFile(Role::kPrimary, "r", {Code::kCorrupt, "unreadable", 7}),
      RefusedFile(Role::kPrimary, "locked", {Code::kLocked, "no key"})};
  const ContainerTree tree(fake);
  tree.faults().Record("views/npy/\xff.npy", {Code::kChecksum, "mismatch", 9});
  tree.faults().Record("r", {Code::kCorrupt, "unreadable", 7});
  EXPECT_EQ(FaultsOf(tree), Json::parse(R"([
      {"path": "", "offset": 40, "reason": "the index is cut"},
      {"path": "", "reason": "no table"},
      {"path": "r", "offset": 7, "reason": "unreadable"},
      {"path": "views/npy/\uFFFD.npy", "path_hex":
       "76696577732f6e70792fff2e6e7079", "offset": 9, "reason": "mismatch"}])"));
}

TEST(FaultsJson, SaysHowManyItLeavesOut) {
  const auto fake = std::make_shared<FakeContainer>(FakeContainer::Names{});
  const ContainerTree tree(fake);
  for (size_t i = 0; i < FaultLedger::kMaxFaults + 3; ++i) {
    tree.faults().Record("f" + std::to_string(i), {Code::kCorrupt, "no"});
  }
  const Json faults = FaultsOf(tree);
  ASSERT_EQ(faults.size(), FaultLedger::kMaxFaults + 1);
  EXPECT_EQ(faults.back()["count"], 3);
}

TEST(FaultsJson, HasTheReasonOfAContainerThatDoesNotParse) {
  const auto fake =
      std::make_shared<FakeContainer>(FakeContainer::Names{"a", "b", "c"});
  const ContainerTree tree(fake, {}, {}, {.nodes = 3, .name_bytes = 1 << 20});
  const Json faults = FaultsOf(tree);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0]["path"], "");
  EXPECT_NE(faults[0]["reason"].get<std::string>().find("more than 3 files"),
            std::string::npos);
}

}  // namespace
}  // namespace ctxfs
