// SPDX-License-Identifier: Apache-2.0
//
// How long what a request needs of servers is waited for.
#include "core/base/server_wait.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/interrupt.h"
#include "core/remote/client/channel.h"
#include "core/remote/client/failed_ranges.h"
#include "core/remote/client/fetch_client.h"
#include "core/remote/client/fetch_program.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::remote {
namespace {

using std::chrono::minutes;
using Clock = ServerWait::Clock;

constexpr minutes kTimeout(10);

TEST(ServerWait, Item30_6_AFetchHasTheTimeOfItsRequest) {
  const auto began = Clock::now() - minutes(3);
  ServerWait waits(began);
  ServerWait own;
  const Request request(NeverInterrupted(), &waits);
  EXPECT_EQ(request.WithWaitUnlessSet(own).wait().End(kTimeout),
            began + kTimeout);
  EXPECT_EQ(&Request().WithWaitUnlessSet(own).wait(), &own);
}

TEST(ServerWait, Item30_6_WhatComesGivesMoreTime) {
  const auto began = Clock::now();
  ServerWait request(began);
  request.NoteArrival((4 << 20) - 1);
  EXPECT_EQ(request.End(kTimeout), began + kTimeout);
  request.NoteArrival(1);
  EXPECT_EQ(request.End(kTimeout), began + 2 * kTimeout);
  request.EndBy(began + minutes(1));
  request.EndBy(began + minutes(2));
  EXPECT_EQ(request.End(kTimeout), began + minutes(1));
}

TEST(FailedRanges, Item30_6_AreKnownForAMoment) {
  const Clock::time_point now = Clock::now();
  const auto end = now + minutes(1);
  FailedRanges ranges;
  ranges.Add({7, 10, 3, end, {Code::kIo, "no answer"}}, now);
  for (const uint64_t granule : {10U, 12U}) {
    const FailedRanges::Range* const failed = ranges.Find(7, granule, now);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->end, end);
    EXPECT_EQ(failed->error.what, "no answer");
  }
  EXPECT_EQ(ranges.Find(7, 9, now), nullptr);
  EXPECT_EQ(ranges.Find(7, 13, now), nullptr);
  EXPECT_EQ(ranges.Find(8, 10, now), nullptr);
  // A later read has a timeout of its own, whenever the wait was to end.
  EXPECT_EQ(ranges.Find(7, 10, end), nullptr);
}

/// Gives up at the second wait.
class WaitsOnce final : public Interrupt {
 public:
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t /*bytes*/) const override {
    return std::exchange(first_, false);
  }
  Clock::time_point AskAgainAt() const override { return Clock::now(); }

 private:
  mutable bool first_ = true;
};

/// A client of this thread, which is also the fetcher.
class Waiting : public testing::Test {
 protected:
  static constexpr uint64_t kSize = 16 * kGranuleBytes;

  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    fetcher_ = Fd(ends[1]);
    client_ = std::make_unique<FetchClient>(Fd(ends[0]), *SharedSlots::Make(),
                                            kTimeout);
    object_ = client_->Known("http://host/o", {"\"e\"", "", kSize}, 0);
  }

  /// Reads a granule, as a request that began so long ago.
  Status Read(uint64_t granule, std::chrono::seconds ago,
              const Interrupt& interrupt = NeverInterrupted()) {
    ServerWait waits(Clock::now() - ago);
    std::vector<std::byte> out(kGranuleBytes);
    return client_->Read(object_, granule * kGranuleBytes, out,
                         Request(interrupt, &waits));
  }
  /// The requests that came to the fetcher since the last call.
  std::vector<FetchRequest> Requests() {
    std::vector<FetchRequest> all;
    std::string message(kMaxMessageBytes, '\0');
    while (true) {
      const ssize_t n =
          ::recv(fetcher_.get(), message.data(), message.size(), MSG_DONTWAIT);
      if (n <= 0) return all;
      all.push_back(*DecodeRequest(
          std::string_view(message).substr(0, static_cast<size_t>(n))));
    }
  }
  void Answer(const FetchRequest& request, std::optional<Error> error = {}) {
    FetchReply reply;
    reply.id = request.id;
    reply.error = std::move(error);
    EXPECT_TRUE(SendMessage(fetcher_.get(), Encode(reply)));
  }

  Fd fetcher_{-1};
  std::unique_ptr<FetchClient> client_;
  RemoteObject object_;
};

TEST_F(Waiting, Item30_6_ARequestThatWaitedLongEnoughFails) {
  const Status read = Read(3, kTimeout + minutes(1));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::kIo);
  EXPECT_NE(read.error().what.find("within 600 s"), std::string::npos);
}

TEST_F(Waiting, Item30_6_ALateAnswerIsThereForTheNextRead) {
  EXPECT_FALSE(Read(3, kTimeout + minutes(1)));
  const std::vector<FetchRequest> requests = Requests();
  ASSERT_EQ(requests.size(), 1U);
  Answer(requests.front());
  // A read that waits for another granule receives the answer, too.
  EXPECT_FALSE(Read(9, minutes(0), WaitsOnce()));
  EXPECT_EQ(Requests().size(), 1U);
  EXPECT_TRUE(Ok(Read(3, kTimeout + minutes(1))));
  EXPECT_TRUE(Requests().empty());
}

TEST_F(Waiting, Item30_6_AReadThatRepeatsAFailedOneDoesNotWaitAgain) {
  EXPECT_FALSE(Read(3, kTimeout + minutes(1)));
  EXPECT_EQ(Requests().size(), 1U);
  const Status again = Read(3, minutes(0));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kIo);
  EXPECT_TRUE(Requests().empty());
  // The second repetition asks the server again.
  EXPECT_TRUE(Fails(Read(3, minutes(0), WaitsOnce()), Code::kInterrupted));
}

TEST_F(Waiting, Item42_2_AnInterruptEndsTheWaitOfWhoReadsForAll) {
  SettableInterrupt interrupt;
  auto read = std::async(std::launch::async,
                         [&] { return Read(3, minutes(0), interrupt); });
  std::string message(kMaxMessageBytes, '\0');
  ASSERT_GT(::recv(fetcher_.get(), message.data(), message.size(), 0), 0);
  interrupt.Set();
  EXPECT_TRUE(Fails(read.get(), Code::kInterrupted));
}

TEST_F(Waiting, Item44_3_WhoReadsForAllLeavesTheSocketToAnother) {
  constexpr uint64_t kReaders = 8;
  // The first thread that waits reads the socket, and is interrupted.
  SettableInterrupt interrupt;
  auto first = std::async(std::launch::async,
                          [&] { return Read(0, minutes(0), interrupt); });
  const auto receive = [&] {
    return *DecodeRequest(ReceiveMessage(fetcher_.get()).text);
  };
  std::vector<FetchRequest> requests = {receive()};
  std::vector<std::future<Status>> others;
  for (uint64_t granule = 1; granule <= kReaders; ++granule) {
    others.push_back(std::async(std::launch::async, [this, granule] {
      return Read(granule, minutes(0));
    }));
    requests.push_back(receive());
  }
  interrupt.Set();
  EXPECT_TRUE(Fails(first.get(), Code::kInterrupted));
  // The answers come in the opposite order, so each reader that reads for all
  // ends before others.
  for (; !requests.empty(); requests.pop_back()) Answer(requests.back());
  for (std::future<Status>& other : others) EXPECT_TRUE(Ok(other.get()));
}

TEST_F(Waiting, Item42_2_AnInterruptEndsTheWaitForAFetcherToStart) {
  SettableInterrupt interrupt;
  auto started = std::async(std::launch::async, [&] {
    return AwaitFetcher(fetcher_, Request(interrupt));
  });
  interrupt.Set();
  EXPECT_TRUE(Fails(started.get(), Code::kInterrupted));
}

/// Answers the requests that came, whenever a wait begins.
class Serving final : public Interrupt {
 public:
  explicit Serving(std::function<void()> serve) : serve_(std::move(serve)) {}
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t /*bytes*/) const override {
    serve_();
    return true;
  }

 private:
  std::function<void()> serve_;
};

const Error kBroken{Code::kIo, "the line is broken", kNoOffset, EAGAIN};

TEST_F(Waiting, Item41_18_AReadThatJoinedAnOlderRequestAsksAgain) {
  EXPECT_TRUE(Fails(Read(3, minutes(0), WaitsOnce()), Code::kInterrupted));
  const std::vector<FetchRequest> older = Requests();
  ASSERT_EQ(older.size(), 1U);
  Answer(older.front(), kBroken);
  std::vector<FetchRequest> seen;
  const Status read = Read(3, minutes(1), Serving([&] {
                             for (FetchRequest& one : Requests()) {
                               Answer(one);
                               seen.push_back(std::move(one));
                             }
                           }));
  EXPECT_TRUE(Ok(read));
  EXPECT_EQ(seen.size(), 1U);
}

TEST_F(Waiting, Item41_18_ItAsksOnce) {
  EXPECT_TRUE(Fails(Read(3, minutes(0), WaitsOnce()), Code::kInterrupted));
  Answer(Requests().at(0), kBroken);
  unsigned asked = 0;
  const Status read = Read(3, minutes(1), Serving([&] {
                             for (const FetchRequest& one : Requests()) {
                               Answer(one, kBroken);
                               ++asked;
                             }
                           }));
  EXPECT_TRUE(Fails(read, Code::kIo));
  EXPECT_EQ(asked, 1U);
}

TEST_F(Waiting, Item41_18_WhatDoesNotPassIsNotAskedForAgain) {
  for (const Error& error :
       {Error{Code::kStale, "changed"}, Error{Code::kUnsupported, "lies"},
        Error{Code::kIo, "denied", kNoOffset, EACCES}}) {
    EXPECT_TRUE(Fails(Read(3, minutes(0), WaitsOnce()), Code::kInterrupted));
    Answer(Requests().at(0), error);
    EXPECT_TRUE(Fails(Read(3, minutes(1)), error.code));
    EXPECT_TRUE(Requests().empty());
    SetUp();
  }
}

TEST_F(Waiting, Item41_18_AReadThatBeganBeforeAFailureIsNoRepetition) {
  EXPECT_FALSE(Read(3, kTimeout + minutes(1)));
  EXPECT_EQ(Requests().size(), 1U);
  EXPECT_TRUE(Fails(Read(3, minutes(1), WaitsOnce()), Code::kInterrupted));
  // One that begins now is.
  EXPECT_TRUE(Fails(Read(3, minutes(0)), Code::kIo));
}

TEST_F(Waiting, Item41_15_AURLThatNoMessageHoldsFailsAtOnce) {
  const std::string url = "http://host/" + std::string(20'000, 'a');
  EXPECT_TRUE(Fails(client_->Open(url, Request()), Code::kNotFound));
  EXPECT_TRUE(Fails(client_->ListPage("s3://bucket/" + std::string(20'000, 'a'),
                                      "", Request(), {}),
                    Code::kNotFound));
  EXPECT_TRUE(Requests().empty());
}

}  // namespace
}  // namespace ctxfs::remote
