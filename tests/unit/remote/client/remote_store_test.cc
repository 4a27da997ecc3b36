// SPDX-License-Identifier: Apache-2.0
#include "core/remote/client/remote_store.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/request.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

constexpr char kPage[] =
    "<ListBucketResult><IsTruncated>false</IsTruncated><Contents>"
    "<Key>p/a</Key><Size>1</Size></Contents></ListBucketResult>";

/// Answers the requests of a store in a thread, by `answer`, which is called
/// with the number of the request, counted from 0. Without an error, the answer
/// is a listing.
class FakeFetcher {
 public:
  using Answer = std::function<std::optional<Error>(unsigned number)>;

  explicit FakeFetcher(Answer answer) : answer_(std::move(answer)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    socket_ = Fd(ends[1]);
    Result<SharedSlots> slots = SharedSlots::Make();
    EXPECT_TRUE(Ok(slots));
    memory_ = slots->At(0).data();
    store_ = std::make_shared<RemoteStore>(
        std::make_shared<FetchClient>(Fd(ends[0]), *std::move(slots),
                                      std::chrono::minutes(1)),
        std::chrono::hours(1), [](std::string_view) { return false; });
    thread_ = std::thread([this] { Run(); });
  }
  ~FakeFetcher() {
    (void)::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
  }
  FakeFetcher(const FakeFetcher&) = delete;
  FakeFetcher& operator=(const FakeFetcher&) = delete;

  /// What it answers; set while nothing is listed.
  std::string page = kPage;

  RemoteStore& store() { return *store_; }
  unsigned requests() const { return requests_; }

 private:
  void Run() {
    std::string message(kMaxMessageBytes, '\0');
    while (true) {
      const ssize_t n = ::read(socket_.get(), message.data(), message.size());
      if (n <= 0) return;
      const auto request = DecodeRequest(
          std::string_view(message).substr(0, static_cast<size_t>(n)));
      ASSERT_TRUE(request.has_value());
      FetchReply reply;
      reply.id = request->id;
      reply.epoch = request->epoch;
      reply.error = answer_(requests_++);
      reply.page_bytes = page.size();
      std::memcpy(memory_ + request->slots.front() * kGranuleBytes, page.data(),
                  page.size());
      const std::string text = Encode(reply);
      (void)::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }

  const Answer answer_;
  Fd socket_{-1};
  std::byte* memory_ = nullptr;
  std::shared_ptr<RemoteStore> store_;
  std::atomic<unsigned> requests_ = 0;
  std::thread thread_;
};

/// Does `act` each time a thread is about to wait; gives up if that is false.
class Waits final : public Interrupt {
 public:
  explicit Waits(std::function<bool()> act) : act_(std::move(act)) {}
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t /*bytes*/) const override { return act_(); }
  Clock::time_point AskAgainAt() const override {
    return Clock::now() + std::chrono::milliseconds(20);
  }

 private:
  const std::function<bool()> act_;
};

Result<StoreListingPtr> ListWith(RemoteStore& store,
                                 const std::function<bool()>& act) {
  const Waits waits(act);
  return store.List("s3://bucket/p/", Request(waits));
}

/// A wait that ends after some time, for tests of what must not wait.
std::function<bool()> NotForEver() {
  return [checks = std::make_shared<unsigned>(0)] { return ++*checks < 400; };
}

TEST(RemoteStore, Item30_6_NobodyWaitsForAListingThatThrew) {
  FakeFetcher fetcher([](unsigned) { return std::nullopt; });
  const auto fail = []() -> bool { throw std::bad_alloc(); };
  EXPECT_THROW((void)ListWith(fetcher.store(), fail), std::bad_alloc);
  const auto listing = ListWith(fetcher.store(), NotForEver());
  ASSERT_TRUE(Ok(listing));
  EXPECT_EQ((*listing)->names.size(), 1U);
}

TEST(RemoteStore, Item30_4_APageThatIsNotNextIsDropped) {
  FakeFetcher fetcher([](unsigned) { return std::nullopt; });
  fetcher.page += "<!-- <NextContinuationToken>x</NextContinuationToken> -->";
  // More than there is room for, if they were kept.
  constexpr unsigned kTimes = 2 * SharedSlots::kCount / kPageGranules;
  for (unsigned i = 0; i < kTimes; ++i) {
    const auto listing = fetcher.store().List(
        "s3://bucket/" + std::to_string(i) + "/", Request());
    ASSERT_FALSE(listing);  // a key of another directory
  }
  const auto listing = ListWith(fetcher.store(), NotForEver());
  ASSERT_TRUE(Ok(listing));
  EXPECT_EQ((*listing)->names.size(), 1U);
}

/// What threads get that wait for the listing of another one, which gets
/// `first`. Each request of theirs is answered by an error.
struct Shared {
  std::vector<Result<StoreListingPtr>> waiters;
  unsigned requests;
};

Shared ShareAnAttempt(const Error& first) {
  constexpr unsigned kWaiters = 4;
  std::atomic<bool> begun = false;
  std::atomic<unsigned> waiting = 0;
  FakeFetcher fetcher([&](unsigned number) -> std::optional<Error> {
    if (number > 0) return std::nullopt;
    begun = true;
    while (waiting < kWaiters) std::this_thread::yield();
    return first;
  });
  std::thread taker([&] {
    const auto listing = ListWith(fetcher.store(), [] { return true; });
    EXPECT_EQ(listing.error().what, first.what);
  });
  while (!begun) std::this_thread::yield();
  std::vector<Result<StoreListingPtr>> results(kWaiters, Error{});
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] {
      bool counted = false;
      result = ListWith(fetcher.store(), [&] {
        if (!std::exchange(counted, true)) ++waiting;
        return true;
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  taker.join();
  return {std::move(results), fetcher.requests()};
}

TEST(RemoteStore, Item30_6_ThreadsThatWaitForAListingShareItsError) {
  const Shared shared = ShareAnAttempt({Code::kIo, "no connection"});
  EXPECT_EQ(shared.requests, 1U);
  for (const auto& result : shared.waiters) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().what, "no connection");
  }
}

TEST(RemoteStore, Item30_6_ErrorsOfAThreadAloneAreNotShared) {
  for (const Code code : {Code::kInterrupted, Code::kNoMemory}) {
    const Shared shared = ShareAnAttempt({code, "of the first"});
    EXPECT_EQ(shared.requests, 2U);
    for (const auto& result : shared.waiters) EXPECT_TRUE(Ok(result));
  }
}

}  // namespace
}  // namespace ctxfs::remote
