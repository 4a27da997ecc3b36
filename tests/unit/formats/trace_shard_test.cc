// SPDX-License-Identifier: Apache-2.0
//
// What the golden traces have no file for: the order of keys, and how often
// events are read.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/container/format.h"
#include "core/formats/shard/shard.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs::trace_shard {
namespace {

class Trace : public ::testing::Test {
 protected:
  void Make(std::vector<ShardEntry> entries, uint16_t type = 2) {
    for (ShardEntry& entry : entries) entry.content_type = type;
    source_ = std::make_shared<FaultySource>(
        BuildShard({.entries = std::move(entries), .role = shard::kTraceRole}));
    container_ = *OpenContainer(source_, {});
    events_ = TableWith(*container_, "views/events.jsonl");
  }

  std::shared_ptr<FaultySource> source_;
  std::shared_ptr<const Container> container_;
  std::shared_ptr<const FileTable> events_;
  BlockCache cache_{1 << 20};
};

TEST_F(Trace, EventsComeInTheOrderOfTheirNumbers) {
  Make({Raw("seq/10", "10"), Raw("seq/9", "9"), Raw("meta/trace", "{}"),
        Raw("seq/x", "\"x\""), Raw("seq/007", "7")});
  ASSERT_NE(events_, nullptr);
  EXPECT_EQ(*ReadAll(*events_->Open(0, cache_), cache_), "7\n9\n10\n\"x\"\n");
}

TEST_F(Trace, EventsAreReadOnce) {
  for (const uint16_t type : {uint16_t{2}, uint16_t{0}}) {
    Make({Raw("seq/0", R"({"a":1})"), Raw("seq/1", "[2]")}, type);
    ASSERT_TRUE(Ok(events_->Exists(0, Cost::kDecode, cache_)));
    ASSERT_TRUE(Ok(events_->Size(0, cache_)));
    source_->ForgetAccesses();
    EXPECT_TRUE(*events_->Exists(0, Cost::kDecode, cache_));
    EXPECT_EQ(*events_->Size(0, cache_), 12U);
    EXPECT_EQ(*ReadAll(*events_->Open(0, cache_), cache_), "{\"a\":1}\n[2]\n");
    EXPECT_EQ(source_->bytes_read(), 0U) << type;
  }
}

TEST_F(Trace, BytesThatAreNotValuesMakeNoEvents) {
  Make({Raw("seq/0", "1"), Raw("seq/1", "not JSON")}, 0);
  EXPECT_FALSE(*events_->Exists(0, Cost::kDecode, cache_));
  // A content type that promises a value is believed.
  Make({Raw("seq/0", "1"), Raw("seq/1", "not JSON")}, 2);
  EXPECT_TRUE(*events_->Exists(0, Cost::kDecode, cache_));
  EXPECT_EQ(*events_->Size(0, cache_), 0U);
  EXPECT_TRUE(Fails(events_->Open(0, cache_), Code::kCorrupt));
}

TEST_F(Trace, EventsStopWhenTheyAreInterrupted) {
  std::vector<ShardEntry> entries;
  for (int i = 0; i < 1000; ++i) {
    entries.push_back(Raw("seq/" + std::to_string(i), "1"));
  }
  Make(std::move(entries));
  const InterruptAfter interrupt(50);
  EXPECT_TRUE(Fails(events_->Open(0, ReadContext(cache_, interrupt)),
                    Code::kInterrupted));
  EXPECT_LT(interrupt.asked(), 100U);
}

}  // namespace
}  // namespace ctxfs::trace_shard
