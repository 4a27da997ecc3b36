// SPDX-License-Identifier: Apache-2.0
#include "fs/fuse/request_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace ctxfs {
namespace {

/// What has become of a request, for the test to see when the request is gone.
struct Fate {
  std::atomic<int> worked = 0;
  std::atomic<int> interrupted = 0;
  std::atomic<int> answered = 0;
  std::atomic<int> dropped = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> asked = 0;
  std::atomic<bool> may_refuse = true;
  std::atomic<bool> finish = false;

  int ended() const { return answered + refused; }
};

class FakeRequest final : public PendingRequest {
 public:
  explicit FakeRequest(Fate& fate, bool given_up = false)
      : fate_(fate), given_up_(given_up) {}
  ~FakeRequest() override { EXPECT_EQ(watcher_, nullptr); }

  void Watch(Watcher* watcher) override {
    watcher_ = watcher;
    if (given_up_) watcher->CallerGaveUp();
  }
  void Unwatch() override { watcher_ = nullptr; }
  void Work(const Interrupt& interrupt) override {
    ++fate_.worked;
    while (!fate_.finish) {
      if (interrupt.interrupted()) {
        ++fate_.interrupted;
        return;
      }
      std::this_thread::yield();
    }
  }
  void Answer() override { ++fate_.answered; }
  void Drop() override { ++fate_.dropped; }
  void Refuse() override { ++fate_.refused; }
  bool MayRefuse() override {
    ++fate_.asked;
    return fate_.may_refuse;
  }

  /// As the kernel's message that the caller got a signal.
  void Signal() { watcher_.load()->CallerGaveUp(); }

 private:
  Fate& fate_;
  const bool given_up_;
  std::atomic<Watcher*> watcher_ = nullptr;
};

template <typename Holds>
void Await(const Holds& holds) {
  while (!holds()) std::this_thread::yield();
}

TEST(RequestPool, AnswersOnceTheWorkIsDone) {
  Fate fate;
  RequestPool pool(2);
  pool.Add(std::make_unique<FakeRequest>(fate), {});
  Await([&] { return fate.worked == 1; });
  EXPECT_EQ(pool.stats().running, 1U);
  EXPECT_EQ(fate.ended(), 0);
  fate.finish = true;
  Await([&] { return pool.stats().running == 0; });
  EXPECT_EQ(fate.answered, 1);
  EXPECT_EQ(fate.refused, 0);
  EXPECT_EQ(fate.dropped, 0);
}

TEST(RequestPool, RefusesAtOnceAndStopsTheWorkAfterAMoment) {
  Fate fate;
  RequestPool pool(2);
  auto request = std::make_unique<FakeRequest>(fate);
  FakeRequest& kept = *request;
  pool.Add(std::move(request), {});
  Await([&] { return fate.worked == 1; });
  kept.Signal();
  Await([&] { return fate.refused == 1; });
  Await([&] { return fate.interrupted == 1; });
  Await([&] { return pool.stats().running == 0; });
  EXPECT_EQ(fate.answered, 0);
  EXPECT_EQ(fate.dropped, 1);
  EXPECT_EQ(pool.stats().refused, 1U);
}

TEST(RequestPool, GoesOnForAMomentAfterASignal) {
  // Done by then, the work serves the caller that asks again.
  Fate fate;
  RequestPool pool(2);
  auto request = std::make_unique<FakeRequest>(fate);
  FakeRequest& kept = *request;
  pool.Add(std::move(request), {});
  Await([&] { return fate.worked == 1; });
  kept.Signal();
  Await([&] { return fate.refused == 1; });
  fate.finish = true;
  Await([&] { return fate.dropped == 1; });
  EXPECT_EQ(fate.interrupted, 0);
}

TEST(RequestPool, RefusesWhatWaitsForAThread) {
  Fate busy;
  Fate waiting;
  RequestPool pool(1);
  pool.Add(std::make_unique<FakeRequest>(busy), {});
  Await([&] { return busy.worked == 1; });
  auto request = std::make_unique<FakeRequest>(waiting);
  FakeRequest& kept = *request;
  pool.Add(std::move(request), {});
  EXPECT_EQ(pool.stats().queued, 1U);
  kept.Signal();
  Await([&] { return waiting.refused == 1; });
  Await([&] { return pool.stats().queued == 0; });
  EXPECT_EQ(waiting.worked, 0);
  EXPECT_EQ(busy.ended(), 0) << "another's request goes on";
  busy.finish = true;
  Await([&] { return busy.answered == 1; });
}

TEST(RequestPool, RefusesWhatWasGivenUpBefore) {
  Fate fate;
  fate.finish = true;
  RequestPool pool(1);
  pool.Add(std::make_unique<FakeRequest>(fate, /*given_up=*/true), {});
  Await([&] { return fate.ended() == 1; });
}

TEST(RequestPool, LeavesACallerWithAnotherSignalAlone) {
  Fate fate;
  fate.may_refuse = false;
  RequestPool pool(1);
  auto request = std::make_unique<FakeRequest>(fate);
  FakeRequest& kept = *request;
  pool.Add(std::move(request), {});
  Await([&] { return fate.worked == 1; });
  kept.Signal();
  // It is asked again: a signal that ends it can follow, without news.
  Await([&] { return fate.asked > 1; });
  EXPECT_EQ(fate.ended(), 0);
  fate.may_refuse = true;
  Await([&] { return fate.refused == 1; });
  Await([&] { return pool.stats().running == 0; });
  const int asked = fate.asked;
  Fate next;
  next.finish = true;
  pool.Add(std::make_unique<FakeRequest>(next), {});
  Await([&] { return next.answered == 1; });
  EXPECT_EQ(fate.asked, asked) << "and no more then";
}

TEST(RequestPool, GivesUpTheReadsOfAThreadThatClosesAFile) {
  Fate same;
  Fate other_file;
  Fate other_thread;
  Fate unknown;
  RequestPool pool(8);
  pool.Add(std::make_unique<FakeRequest>(same), {1, 77});
  pool.Add(std::make_unique<FakeRequest>(other_file), {2, 77});
  pool.Add(std::make_unique<FakeRequest>(other_thread), {1, 78});
  pool.Add(std::make_unique<FakeRequest>(unknown), {1, 0});
  pool.GiveUp({1, 77});
  pool.GiveUp({1, 0});
  Await([&] { return same.refused == 1; });
  for (Fate* fate : {&other_file, &other_thread, &unknown}) {
    fate->finish = true;
    Await([&] { return fate->answered == 1; });
    EXPECT_EQ(fate->refused, 0);
  }
}

TEST(RequestPool, WorksOnNoMoreThanItHasThreads) {
  constexpr size_t kThreads = 3;
  std::vector<Fate> fates(10);
  RequestPool pool(kThreads);
  for (Fate& fate : fates) pool.Add(std::make_unique<FakeRequest>(fate), {});
  Await([&] { return pool.stats().running == kThreads; });
  EXPECT_EQ(pool.stats().queued, fates.size() - kThreads);
  for (Fate& fate : fates) fate.finish = true;
  for (Fate& fate : fates) Await([&] { return fate.answered == 1; });
}

TEST(RequestPool, KeepsThreadsFromLargeWork) {
  Fate large;
  Fate other;
  RequestPool pool(4);
  for (int i = 0; i < 6; ++i) {
    pool.Add(std::make_unique<FakeRequest>(large), {},
             RequestPool::Work::kLarge);
  }
  Await([&] { return large.worked == 3; });
  other.finish = true;
  pool.Add(std::make_unique<FakeRequest>(other), {});
  Await([&] { return other.answered == 1; });
  EXPECT_EQ(large.worked, 3);
  EXPECT_EQ(pool.stats().queued, 3U);
  large.finish = true;
  Await([&] { return large.answered == 6; });
}

TEST(RequestPool, ASingleThreadTakesLargeWork) {
  Fate fate;
  fate.finish = true;
  RequestPool pool(1);
  pool.Add(std::make_unique<FakeRequest>(fate), {}, RequestPool::Work::kLarge);
  Await([&] { return fate.answered == 1; });
}

TEST(RequestPool, StopsWithoutWaitingForWork) {
  std::vector<Fate> fates(10);
  {
    RequestPool pool(3);
    for (Fate& fate : fates) pool.Add(std::make_unique<FakeRequest>(fate), {});
    Await([&] { return pool.stats().running == 3; });
  }
  for (const Fate& fate : fates) EXPECT_EQ(fate.ended(), 1);
}

TEST(RequestPool, AnswersWhatComesAfterItHasStopped) {
  Fate fate;
  RequestPool pool(3);
  pool.Stop();
  pool.Add(std::make_unique<FakeRequest>(fate), {});
  EXPECT_EQ(fate.ended(), 1);
}

TEST(RequestPool, EndsEachRequestOnceHoweverSignalsAndAnswersMeet) {
  constexpr size_t kRequests = 2000;
  std::vector<Fate> fates(kRequests);
  {
    RequestPool pool(4);
    for (size_t i = 0; i < kRequests; ++i) {
      fates[i].finish = true;
      pool.Add(std::make_unique<FakeRequest>(fates[i]), {1, 1});
      if (i % 3 == 0) pool.GiveUp({1, 1});
    }
  }
  for (const Fate& fate : fates) EXPECT_EQ(fate.ended(), 1);
}

}  // namespace
}  // namespace ctxfs
