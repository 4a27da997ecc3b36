// SPDX-License-Identifier: Apache-2.0
#include "core/remote/fetcher/cache_writer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <utility>
#include <vector>

#include "core/remote/client/channel.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::remote {
namespace {

class Writer : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    client_ = Fd(ends[0]);
    fetcher_ = Fd(ends[1]);
  }

  CacheWriter::Task TaskOf(uint16_t slot) const {
    CacheWriter::Task task;
    task.key = "object";
    task.first = slot;
    task.blocks = {slots_.At(slot)};
    task.slots = {slot};
    slots_.SetBeingCached(slot, true);
    return task;
  }

  TempDir dir_;
  const std::unique_ptr<BlockStore> store_ =
      *BlockStore::Open(dir_.Path("cache"), 1 << 30);
  const SharedSlots slots_ = *SharedSlots::Make();
  Fd client_{-1};
  Fd fetcher_{-1};
};

TEST_F(Writer, Item44_3_AReplyComesAfterWhatWasAddedBefore) {
  CacheWriter writer(*store_, slots_, fetcher_.get());
  for (uint16_t slot = 0; slot < 40; ++slot) {
    ASSERT_TRUE(writer.Reserve(1));
    writer.Add(TaskOf(slot));
  }
  CacheWriter::Task flush;
  flush.reply.emplace().id = 7;
  writer.Add(std::move(flush));
  EXPECT_EQ(DecodeReply(ReceiveMessage(client_.get()).text)->id, 7U);
  for (uint16_t slot = 0; slot < 40; ++slot) {
    EXPECT_FALSE(slots_.IsBeingCached(slot));
    EXPECT_TRUE(store_->OpenFile("object", slot));
  }
}

TEST_F(Writer, Item44_3_TakesNoMoreThanItsShare) {
  CacheWriter writer(*store_, slots_, fetcher_.get());
  size_t taken = 0;
  while (writer.Reserve(kMaxGranules)) taken += kMaxGranules;
  EXPECT_GT(taken, 0U);
  EXPECT_LT(taken, SharedSlots::kCount / 2);
}

}  // namespace
}  // namespace ctxfs::remote
