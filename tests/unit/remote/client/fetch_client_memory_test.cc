// SPDX-License-Identifier: Apache-2.0
//
// The fetcher's client without memory, at each step of each of its requests.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/base/interrupt.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/fetch_client.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

constexpr uint64_t kAll = SharedSlots::kCount;
const Identity kIdentity{"\"e\"", "", kAll* kGranuleBytes};

/// Does not wait for anything.
class Never final : public Interrupt {
 public:
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t /*bytes*/) const override { return false; }
};

class WithoutMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = Fd(ends[1]);
    client_ = std::make_unique<FetchClient>(Fd(ends[0]), *SharedSlots::Make(),
                                            std::chrono::minutes(1));
    thread_ = std::thread([this] { Serve(); });
  }
  void TearDown() override {
    client_.reset();
    if (thread_.joinable()) thread_.join();
  }

  /// Answers all requests; has memory, as the thread that fails is another one.
  void Serve() {
    while (true) {
      const Received received = ReceiveMessage(socket_.get());
      const auto request = DecodeRequest(received.text);
      if (!request) return;
      ++requests_;
      FetchReply reply;
      reply.id = request->id;
      reply.identity = kIdentity;
      reply.page_bytes = 10;
      if (answers_) (void)SendMessage(socket_.get(), Encode(reply));
    }
  }

  /// Calls `request` with an allocation that fails, a later one each time,
  /// until none does.
  void TryAll(const std::function<Status()>& request) {
    constexpr int64_t kMax = 500;
    int64_t after = 0;
    for (bool fired = true; fired; ++after) {
      ASSERT_LT(after, kMax);
      const FailingNew failing(after);
      try {
        (void)request();
      } catch (const std::bad_alloc&) {
      }
      fired = failing.fired();
    }
    EXPECT_GT(after, 5);
    ExpectAllSlots();
    ExpectNoOpenRequest();
  }

  RemoteObject NewObject() {
    return client_->Known("http://host/" + std::to_string(++objects_),
                          kIdentity, 0);
  }

  /// An object that has as many granules as there are slots is read as a whole,
  /// and all of it stays.
  void ExpectAllSlots() {
    const RemoteObject object = NewObject();
    std::vector<std::byte> out(kIdentity.size);
    ASSERT_TRUE(Ok(client_->Read(object, 0, out, Request())));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < kAll; ++i) {
      if (client_->Has(object, i * kGranuleBytes)) ++kept;
    }
    EXPECT_EQ(kept, kAll);
  }

  /// As many requests as may be open are sent at the same time.
  void ExpectNoOpenRequest() {
    answers_ = false;
    const RemoteObject object = NewObject();
    const uint64_t before = requests_;
    std::vector<std::byte> out(1);
    for (uint64_t i = 0; i < 2 * FetchClient::kMaxPending; ++i) {
      EXPECT_FALSE(
          client_->Read(object, i * kGranuleBytes, out, Request(Never())));
    }
    while (requests_ < before + FetchClient::kMaxPending && !TimeIsOver()) {
      std::this_thread::yield();
    }
    EXPECT_EQ(requests_, before + FetchClient::kMaxPending);
  }

  /// Far more than it takes.
  bool TimeIsOver() const {
    return std::chrono::steady_clock::now() > began_ + std::chrono::minutes(2);
  }

  const std::chrono::steady_clock::time_point began_ =
      std::chrono::steady_clock::now();
  Fd socket_{-1};
  std::unique_ptr<FetchClient> client_;
  std::atomic<bool> answers_ = true;
  std::atomic<uint64_t> requests_ = 0;
  unsigned objects_ = 0;
  std::thread thread_;
};

TEST_F(WithoutMemory, Item41_17_OpeningLeavesNothingBehind) {
  TryAll([this]() -> Status {
    CTXFS_TRY(client_->Open("http://host/o", Request()));
    return {};
  });
}

TEST_F(WithoutMemory, Item41_17_OpeningWithATailLeavesNothingBehind) {
  TryAll([this]() -> Status {
    CTXFS_TRY(client_->Open("http://host/o", Request(),
                            /*with_tail=*/true));
    return {};
  });
}

TEST_F(WithoutMemory, Item41_17_ReadingLeavesNothingBehind) {
  std::vector<std::byte> out(3 * kGranuleBytes);
  TryAll([&] { return client_->Read(NewObject(), 100, out, Request()); });
}

TEST_F(WithoutMemory, Item41_17_FetchingInAdvanceLeavesNothingBehind) {
  std::vector<std::byte> out(kGranuleBytes);
  TryAll([&] {
    const RemoteObject object = NewObject();
    (void)client_->Prefetch(object, 0, 100 * kGranuleBytes);
    return client_->Read(object, 50 * kGranuleBytes, out, Request());
  });
}

TEST_F(WithoutMemory, Item41_17_ListingLeavesNothingBehind) {
  TryAll([this]() -> Status {
    auto ahead = client_->RequestPage("s3://b/", "next");
    CTXFS_TRY(client_->ListPage("s3://b/", "", Request(), {}));
    CTXFS_TRY(
        client_->ListPage("s3://b/", "next", Request(), std::move(ahead)));
    return {};
  });
}

}  // namespace
}  // namespace ctxfs::remote
