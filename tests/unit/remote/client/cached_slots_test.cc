// SPDX-License-Identifier: Apache-2.0
//
// Slots that the fetcher writes to the cache after its reply.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "core/remote/client/channel.h"
#include "core/remote/client/fetch_client.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

constexpr uint64_t kAll = SharedSlots::kCount;
constexpr size_t kMarked = 3 * kMaxGranules;

/// A client, and a fetcher that does not finish the writing of the slots of its
/// first replies.
class CachedSlots : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = Fd(ends[1]);
    Fd memory(-1);
    SharedSlots slots = *SharedSlots::MakeFile(&memory);
    slots_ = std::make_unique<SharedSlots>(*SharedSlots::OpenFile(memory));
    client_ = std::make_unique<FetchClient>(Fd(ends[0]), std::move(slots),
                                            std::chrono::minutes(1));
    thread_ = std::thread([this] { Serve(); });
  }
  void TearDown() override {
    client_.reset();
    thread_.join();
  }

  void Serve() {
    while (true) {
      const auto request = DecodeRequest(ReceiveMessage(socket_.get()).text);
      if (!request) return;
      for (const uint16_t slot : request->slots) Take(slot);
      if (request->flush) Finish();
      FetchReply reply;
      reply.id = request->id;
      reply.epoch = request->epoch;
      (void)SendMessage(socket_.get(), Encode(reply));
    }
  }
  void Take(uint16_t slot) {
    if (slots_->IsBeingCached(slot)) ++reused;
    if (marked_.size() == kMarked) return;
    marked_.insert(slot);
    slots_->SetBeingCached(slot, true);
  }
  void Finish() {
    for (const uint16_t slot : marked_) slots_->SetBeingCached(slot, false);
  }

  void ReadTwiceAsMuchAsTheSlotsHold() {
    constexpr uint64_t kSize = 2 * kAll * kGranuleBytes;
    const RemoteObject object =
        client_->Known("http://host/o", {"\"e\"", "", kSize}, 0);
    std::vector<std::byte> out(kSize);
    ASSERT_TRUE(Ok(client_->Read(object, 0, out, Request())));
  }

  std::atomic<unsigned> reused = 0;
  Fd socket_{-1};
  std::unique_ptr<SharedSlots> slots_;
  std::unique_ptr<FetchClient> client_;
  std::set<uint16_t> marked_;
  std::thread thread_;
};

TEST_F(CachedSlots, Item44_3_AreReadAndNotUsedAgain) {
  ReadTwiceAsMuchAsTheSlotsHold();
  EXPECT_EQ(reused, 0U);
  EXPECT_EQ(client_->stats().backlog, kMarked * kGranuleBytes);
}

TEST_F(CachedSlots, Item44_3_AreAwaitedAtTheEnd) {
  ReadTwiceAsMuchAsTheSlotsHold();
  client_->AwaitCache(std::chrono::minutes(1));
  EXPECT_EQ(client_->stats().backlog, 0U);
}

TEST_F(CachedSlots, Item44_3_AreFreeWhenTheFetcherEnds) {
  ReadTwiceAsMuchAsTheSlotsHold();
  FetchReply news;
  news.epoch = 1;
  ASSERT_TRUE(SendMessage(socket_.get(), Encode(news)));
  ReadTwiceAsMuchAsTheSlotsHold();
  EXPECT_EQ(client_->stats().backlog, 0U);
}

}  // namespace
}  // namespace ctxfs::remote
