// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/containers/mounted_containers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/heap/heap_allowance.h"
#include "core/base/mutex.h"
#include "core/container/unreadable.h"
#include "core/io/source.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Number = MountedContainers::Number;
using Tree = MountedContainers::Tree;

constexpr uint64_t kEach = 1 << 19;  // bytes that a Large takes

/// A container that takes kEach bytes of heap while it is open.
class Large final : public FakeContainer {
 public:
  explicit Large(std::vector<std::optional<std::string>> names)
      : FakeContainer(std::move(names)) {
    const int now = ++alive;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);)
      continue;
  }
  ~Large() override { --alive; }

  static inline std::atomic<int> alive = 0;
  static inline std::atomic<int> most = 0;  // that were alive at once

 private:
  std::string index_ = std::string(kEach, 'i');
};

/// Containers 1, 2, ... of the file system, opened as `make` says.
class MountedContainersTest : public testing::Test {
 protected:
  MountedContainers Make(const MountedContainers::Budget& budget) {
    const auto open =
        [this](const MountedContainers::Attachment& attachment,
               const ContainerSource* outer,
               const ReadContext&) -> MountedContainers::ContainerResult {
      if (Status may = HeapAllowance::Admit(kEach); !may) return may.error();
      {
        const MutexLock lock(mutex);
        ++opened[attachment.at];
      }
      ++opens;
      if (on_open != nullptr) on_open(attachment.at);
      if (outer != nullptr) ++nested;
      return std::shared_ptr<const Container>(std::make_shared<Large>(
          std::vector<std::optional<std::string>>{"d/a", "b"}));
    };
    return {rules, budget, open, nullptr};
  }

  Tree Get(MountedContainers& containers, Number number) {
    const Result<Tree> tree = containers.Get(number, cache);
    EXPECT_TRUE(Ok(tree));
    return tree ? *tree : nullptr;
  }

  const MountRules rules = {};
  BlockCache cache{1 << 20};
  std::function<void(Inode)> on_open;
  Mutex mutex;
  std::map<Inode, int> opened;  // how often, under mutex
  std::atomic<int> opens = 0;
  std::atomic<int> nested = 0;
};

TEST_F(MountedContainersTest, ClosesByBytes) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers = Make({.containers = 100, .bytes = 5 * kEach});
  std::vector<Number> numbers;
  for (Inode at = 1; at <= 20; ++at) {
    numbers.push_back(containers.Attach({.at = at}));
    EXPECT_NE(Get(containers, numbers.back()), nullptr);
    EXPECT_LE(containers.Sum().memory, 5 * kEach);
  }
  EXPECT_EQ(containers.Sum().containers, 4U) << "and a little each";
  EXPECT_GE(containers.Sum().memory, 4 * kEach);
  EXPECT_EQ(opens, 20);
  for (size_t i = 16; i < 20; ++i) (void)Get(containers, numbers[i]);
  EXPECT_EQ(opens, 20) << "the latest are open";
  for (const Number number : numbers) (void)Get(containers, number);
  EXPECT_EQ(opens, 40) << "a scan opens each at most once more";
}

TEST_F(MountedContainersTest, ClosesByCount) {
  MountedContainers containers = Make({.containers = 3});
  for (Inode at = 1; at <= 10; ++at) {
    (void)Get(containers, containers.Attach({.at = at}));
    EXPECT_LE(containers.Sum().containers, 3U);
  }
}

TEST_F(MountedContainersTest, Item28_14_OpensNothingBeyondTheBudget) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers =
      Make({.bytes = 2 * kEach, .patience = std::chrono::milliseconds(50)});
  const Number one = containers.Attach({.at = 1});
  const Number two = containers.Attach({.at = 2});
  Tree used = Get(containers, one);
  const Result<Tree> beside = containers.Get(two, cache);
  ASSERT_TRUE(Fails(beside, Code::kNoMemory));
  EXPECT_NE(beside.error().what.find("-o index="), std::string::npos);
  EXPECT_EQ(Get(containers, one), used) << "it is in use";
  EXPECT_EQ(opened[1], 1);
  used = nullptr;
  EXPECT_NE(Get(containers, two), nullptr);
  EXPECT_EQ(containers.Opened(one), nullptr);
}

TEST_F(MountedContainersTest, Item28_14_WaitsUntilOthersAreNotInUse) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers =
      Make({.bytes = 2 * kEach, .patience = std::chrono::hours(1)});
  const Number two = containers.Attach({.at = 2});
  Tree used = Get(containers, containers.Attach({.at = 1}));
  std::future<Tree> waits =
      std::async(std::launch::async, [&] { return Get(containers, two); });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  used = nullptr;
  EXPECT_NE(waits.get(), nullptr);
}

TEST_F(MountedContainersTest, Item28_14_WaitsForRoomUntilInterrupted) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers =
      Make({.bytes = 2 * kEach, .patience = std::chrono::hours(1)});
  const Tree used = Get(containers, containers.Attach({.at = 1}));
  SettableInterrupt interrupt;
  std::future<Result<Tree>> waits = std::async(std::launch::async, [&] {
    return containers.Get(containers.Attach({.at = 2}),
                          ReadContext(cache, interrupt));
  });
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(200)),
            std::future_status::timeout);
  interrupt.Set();
  EXPECT_FALSE(waits.get());
}

TEST_F(MountedContainersTest, Item28_14_OnlyTheFirstWaitsForWhatStaysInUse) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers =
      Make({.bytes = 2 * kEach, .patience = std::chrono::seconds(1)});
  Tree used = Get(containers, containers.Attach({.at = 1}));
  const auto refused = [&](Inode at) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(Fails(containers.Get(containers.Attach({.at = at}), cache),
                      Code::kNoMemory));
    return std::chrono::steady_clock::now() - start;
  };
  EXPECT_GE(refused(2), std::chrono::seconds(1));
  auto rest = std::chrono::steady_clock::duration::zero();
  for (Inode at = 3; at < 13; ++at) rest += refused(at);
  EXPECT_LT(rest, std::chrono::seconds(5))
      << "ten times one second if each did";
  used = nullptr;
  EXPECT_NE(Get(containers, containers.Attach({.at = 2})), nullptr);
}

TEST_F(MountedContainersTest, Item28_14_WhatNeverFitsIsRefused) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  int parsed = 0;
  MountedContainers containers(
      rules, {.bytes = 8 * kEach},
      [&parsed](
          const MountedContainers::Attachment&, const ContainerSource*,
          const ReadContext& context) -> MountedContainers::ContainerResult {
        ++parsed;
        std::vector<std::string> parts;
        while (parts.size() < 1000) {
          if (Status wanted = context.Check(); !wanted) return wanted.error();
          parts.emplace_back(kEach, 'x');
        }
        return std::shared_ptr<const Container>();
      },
      nullptr);
  const HeapMeter meter;
  const Number number = containers.Attach({.at = 1});
  EXPECT_TRUE(Fails(containers.Get(number, cache), Code::kLimit));
  EXPECT_EQ(parsed, 2) << "with little memory, and when it is its turn";
  EXPECT_LT(meter.bytes(), kEach);
  EXPECT_EQ(containers.Sum().memory, 0U);
}

/// Container 1 is small. Container 2 takes 6.5 of the 7 times kEach that a
/// large one can have, and is replaced if it is refused. Which comes first
/// decides whether it is.
class AlmostTooLarge : public MountedContainersTest {
 protected:
  static constexpr uint64_t kTakes = 13 * kEach / 2;

  void SetUp() override {
    if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  }

  static std::shared_ptr<const Container> OpenSecond() {
    class Needing final : public FakeContainer {
     public:
      Needing() : FakeContainer({"d/a", "b", "c"}) {}

     private:
      std::string index_ = std::string(kTakes, 'i');
    };
    if (Status may = HeapAllowance::Admit(kTakes); !may) {
      return UnreadableContainer(std::make_shared<MemorySource>("its bytes"),
                                 may.error());
    }
    return std::make_shared<Needing>();
  }

  MountedContainers containers{
      rules,
      {.bytes = 8 * kEach, .patience = std::chrono::milliseconds(50)},
      [](const MountedContainers::Attachment& attachment,
         const ContainerSource*,
         const ReadContext&) -> MountedContainers::ContainerResult {
        if (attachment.at == 2) return OpenSecond();
        return std::shared_ptr<const Container>(std::make_shared<Large>(
            std::vector<std::optional<std::string>>{"a"}));
      },
      nullptr};
  const Number one = containers.Attach({.at = 1});
  const Number two = containers.Attach({.at = 2});
};

TEST_F(AlmostTooLarge, WhatWasRefusedIsRefusedAgain) {
  Tree used = Get(containers, one);
  const uint64_t nodes = Get(containers, two)->container_tree->NodeCount();
  EXPECT_TRUE(Get(containers, two)->refused);
  used = nullptr;
  while (containers.CloseOldest()) continue;
  const Tree again = Get(containers, two);
  ASSERT_NE(again, nullptr) << "and is not stale";
  EXPECT_TRUE(again->refused);
  EXPECT_EQ(again->container_tree->NodeCount(), nodes);
}

TEST_F(AlmostTooLarge, WhatWasOpenWaitsForRoom) {
  const uint64_t nodes = Get(containers, two)->container_tree->NodeCount();
  EXPECT_FALSE(Get(containers, two)->refused);
  while (containers.CloseOldest()) continue;
  Tree used = Get(containers, one);
  EXPECT_TRUE(Fails(containers.Get(two, cache), Code::kNoMemory));
  used = nullptr;
  const Tree again = Get(containers, two);
  ASSERT_NE(again, nullptr) << "and is not stale";
  EXPECT_EQ(again->container_tree->NodeCount(), nodes);
}

TEST_F(MountedContainersTest, Item28_14_LargeOnesQueueForEachOther) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers = Make({.bytes = 3 * kEach});
  Large::most = 0;
  InThreads(8, [&](int i) {
    for (int round = 0; round < 5; ++round) {
      const Number number =
          containers.Attach({.at = static_cast<Inode>(1 + (i + round) % 8)});
      const Result<Tree> tree = containers.Get(number, cache);
      EXPECT_TRUE(tree || Fails(tree, Code::kNoMemory));
    }
  });
  EXPECT_LE(Large::most, 3) << "of 8 that were opened at once";
  EXPECT_LE(containers.Sum().memory, 3 * kEach);
}

TEST_F(MountedContainersTest, Item28_14_WaitsForItsTurnUntilInterrupted) {
  MountedContainers containers = Make({.bytes = 8 * kEach});
  std::latch begun(1);
  std::latch go_on(1);
  on_open = [&](Inode at) {
    if (at != 1) return;
    begun.count_down();
    go_on.wait();
  };
  std::future<Tree> first = std::async(std::launch::async, [&] {
    return Get(containers, containers.Attach({.at = 1}));
  });
  begun.wait();
  class Later final : public Interrupt {
   public:
    bool interrupted() const override { return ++asked_ > 3; }
    Clock::time_point AskAgainAt() const override { return Clock::now(); }

   private:
    mutable int asked_ = 0;
  };
  const Later later;
  EXPECT_TRUE(Fails(
      containers.Get(containers.Attach({.at = 2}), ReadContext(cache, later)),
      Code::kInterrupted));
  EXPECT_EQ(opened.count(2), 0U);
  go_on.count_down();
  EXPECT_NE(first.get(), nullptr);
}

TEST_F(MountedContainersTest, ClosesWhatIsNestedFirst) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  MountedContainers containers = Make({.bytes = 4 * kEach});
  const Number outer = containers.Attach({.at = 1});
  const Number inner =
      containers.Attach({.at = 2,
                         .kind = MountedContainers::Kind::kNested,
                         .within = outer,
                         .node = 1});
  EXPECT_EQ(Get(containers, inner)->outer, Get(containers, outer));
  EXPECT_EQ(Get(containers, inner)->depth, 1U);
  EXPECT_EQ(nested, 1);
  EXPECT_EQ(containers.Chain(inner), (std::vector<Number>{outer, inner}));
  (void)Get(containers, containers.Attach({.at = 100}));
  EXPECT_NE(containers.Opened(inner), nullptr);
  (void)Get(containers, containers.Attach({.at = 101}));
  EXPECT_EQ(containers.Opened(inner), nullptr);
  EXPECT_NE(containers.Opened(outer), nullptr);
  (void)Get(containers, containers.Attach({.at = 102}));
  EXPECT_EQ(containers.Opened(outer), nullptr);
  (void)Get(containers, inner);
  EXPECT_NE(containers.Opened(outer), nullptr) << "it takes the outer one";
}

TEST_F(MountedContainersTest, KeepsTheOuterWhileTheInnerIsOpen) {
  MountedContainers containers = Make({});
  const Number outer = containers.Attach({.at = 1});
  const Number inner =
      containers.Attach({.at = 2,
                         .kind = MountedContainers::Kind::kNested,
                         .within = outer,
                         .node = 1});
  Tree used = Get(containers, inner);
  EXPECT_FALSE(containers.CloseOldest());
  used = nullptr;
  EXPECT_TRUE(containers.CloseOldest());
  EXPECT_EQ(containers.Opened(inner), nullptr);
  EXPECT_TRUE(containers.CloseOldest());
  EXPECT_EQ(containers.Opened(outer), nullptr);
  EXPECT_FALSE(containers.CloseOldest());
  EXPECT_EQ(containers.Sum().memory, 0U);
}

TEST_F(MountedContainersTest, OpensEachOnceForAllWhoWait) {
  MountedContainers containers = Make({});
  for (int round = 0; round < 20; ++round) {
    const auto at = static_cast<Inode>(round + 1);
    const Number number = containers.Attach({.at = at});
    std::vector<Tree> trees(8);
    InThreads(8, [&](int i) {
      trees[static_cast<size_t>(i)] = Get(containers, number);
    });
    for (const Tree& tree : trees) EXPECT_EQ(tree, trees[0]);
    EXPECT_EQ(opened[at], 1);
  }
}

// While one opens, for however long, everything about others goes on.
TEST_F(MountedContainersTest, DelaysNoOtherWhileItOpensOne) {
  MountedContainers containers = Make({});
  const Number slow = containers.Attach({.at = 1});
  const Number fast = containers.Attach({.at = 2});
  std::latch begun(1);
  std::latch go_on(1);
  on_open = [&](Inode at) {
    if (at != 1) return;
    begun.count_down();
    go_on.wait();
  };
  std::future<Tree> first =
      std::async(std::launch::async, [&] { return Get(containers, slow); });
  begun.wait();
  EXPECT_NE(Get(containers, fast), nullptr);
  EXPECT_EQ(containers.Opened(slow), nullptr);
  EXPECT_EQ(containers.Sum().containers, 1U);
  EXPECT_NE(containers.Attach({.at = 3}), slow);
  EXPECT_TRUE(containers.CloseOldest());
  containers.Detach(2);
  go_on.count_down();
  EXPECT_NE(first.get(), nullptr);
}

TEST_F(MountedContainersTest, StopsWaitingForOneThatOpensWhenInterrupted) {
  MountedContainers containers = Make({});
  const Number number = containers.Attach({.at = 1});
  std::latch begun(1);
  std::latch go_on(1);
  on_open = [&](Inode) {
    begun.count_down();
    go_on.wait();
  };
  std::future<Tree> first =
      std::async(std::launch::async, [&] { return Get(containers, number); });
  begun.wait();
  class Interrupted final : public Interrupt {
   public:
    bool interrupted() const override { return true; }
  };
  const Interrupted interrupted;
  EXPECT_TRUE(Fails(containers.Get(number, ReadContext(cache, interrupted)),
                    Code::kInterrupted));
  go_on.count_down();
  EXPECT_NE(first.get(), nullptr);
}

TEST_F(MountedContainersTest, ForgetsWhatIsDetachedWhileItOpens) {
  MountedContainers containers = Make({});
  const Number number = containers.Attach({.at = 1});
  on_open = [&](Inode) { containers.Detach(1); };
  EXPECT_NE(Get(containers, number), nullptr) << "the request goes on";
  EXPECT_EQ(containers.Sum().containers, 0U);
  EXPECT_EQ(containers.Sum().memory, 0U);
  EXPECT_TRUE(Fails(containers.Get(number, cache), Code::kStale));
}

TEST_F(MountedContainersTest, DetachesWhatIsNestedToo) {
  MountedContainers containers = Make({});
  const Number outer = containers.Attach({.at = 1});
  const Number inner =
      containers.Attach({.at = 2,
                         .kind = MountedContainers::Kind::kNested,
                         .within = outer,
                         .node = 1});
  (void)Get(containers, inner);
  EXPECT_EQ(containers.Sum().containers, 2U);
  containers.Detach(1);
  EXPECT_EQ(containers.Sum().memory, 0U);
  EXPECT_TRUE(Fails(containers.Get(inner, cache), Code::kStale));
  EXPECT_EQ(containers.AttachmentOf(inner), std::nullopt);
}

}  // namespace
}  // namespace ctxfs
