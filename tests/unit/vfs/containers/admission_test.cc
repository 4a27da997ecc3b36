// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/vfs/containers/mounted_containers.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Attachment = MountedContainers::Attachment;
using ContainerResult = MountedContainers::ContainerResult;
using Number = MountedContainers::Number;
using Tree = MountedContainers::Tree;

constexpr uint64_t kLarge = 1 << 19;

/// A container that takes `bytes` of heap while it is open.
ContainerResult OpenLarge(uint64_t bytes) {
  class Large final : public FakeContainer {
   public:
    explicit Large(uint64_t size)
        : FakeContainer({"d/a", "b"}), index_(size, 'i') {}

   private:
    std::string index_;
  };
  CTXFS_TRY(HeapAllowance::Admit(bytes));
  return std::shared_ptr<const Container>(std::make_shared<Large>(bytes));
}

class AdmissionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  }

  const MountRules rules = {};
  BlockCache cache{1 << 20};
};

TEST_F(AdmissionTest, Item41_17_ItsOldTreeMayBeClosedWhileItWaits) {
  constexpr uint64_t kInner = 4 * kLarge;
  std::function<void()> before_inner;
  MountedContainers containers(
      rules, {.bytes = 16 * kLarge, .patience = std::chrono::milliseconds(0)},
      [&](const Attachment& attachment, const ContainerSource*,
          const ReadContext&) {
        if (attachment.at == 1) return OpenLarge(kLarge);
        if (before_inner) before_inner();
        return OpenLarge(kInner);
      },
      nullptr);
  const Number outer = containers.Attach({.at = 1});
  const Number inner =
      containers.Attach({.at = 2,
                         .kind = MountedContainers::Kind::kNested,
                         .within = outer,
                         .node = 1});
  const Result<Tree> old = containers.Get(inner, cache);
  ASSERT_TRUE(Ok(old));
  const Tree old_outer = containers.Opened(outer);
  before_inner = [&] {  // another thread closes the inner one
    std::thread([&] {
      EXPECT_TRUE(
          Ok(containers.Renew(outer, old_outer, nullptr, false, cache)));
    }).join();
    EXPECT_LT(containers.Sum().memory, kInner);
  };
  EXPECT_TRUE(Ok(containers.Renew(inner, *old, nullptr, false, cache)));
  EXPECT_TRUE(Ok(containers.Get(inner, cache)));
}

struct ThrownWhileOpening {
  const char* name;
  void (*throw_it)();
  Code code;
};

class ThrowingOpening : public AdmissionTest,
                        public testing::WithParamInterface<ThrownWhileOpening> {
 protected:
  /// Opens a container several times at once, which throws, and then does not.
  /// It takes `bytes` of the budget.
  void Run(uint64_t bytes) {
    constexpr int kThreads = 4;
    std::latch arrived(kThreads);
    std::atomic<bool> throws = true;
    MountedContainers containers(
        rules, {.bytes = 8 * kLarge, .patience = std::chrono::milliseconds(0)},
        [&](const Attachment&, const ContainerSource*,
            const ReadContext&) -> ContainerResult {
          if (!throws) return OpenLarge(bytes);
          CTXFS_TRY(HeapAllowance::Admit(bytes));
          arrived.wait();
          GetParam().throw_it();
          return Error{Code::kCorrupt, "not thrown"};
        },
        nullptr);
    const Number number = containers.Attach({.at = 1});
    InThreads(kThreads, [&](int) {
      arrived.count_down();
      EXPECT_TRUE(Fails(containers.Get(number, cache), GetParam().code));
    });
    throws = false;
    EXPECT_TRUE(Ok(containers.Get(number, cache)));
    EXPECT_TRUE(Ok(containers.Get(containers.Attach({.at = 2}), cache)))
        << "nothing is reserved any more";
    EXPECT_EQ(cache.stats().waiting, 0U);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Types, ThrowingOpening,
    testing::Values(
        ThrownWhileOpening{"RuntimeError",
                           [] { throw std::runtime_error("thrown"); },
                           Code::kIo},
        ThrownWhileOpening{"Int", [] { throw 41; }, Code::kIo},
        ThrownWhileOpening{"BadAlloc", [] { throw std::bad_alloc(); },
                           Code::kNoMemory}),
    [](const auto& of) { return std::string(of.param.name); });

TEST_P(ThrowingOpening, Item41_10_OfLittleMemory) { Run(kLarge / 64); }

TEST_P(ThrowingOpening, Item41_10_WhoseTurnItIs) { Run(6 * kLarge); }

}  // namespace
}  // namespace ctxfs
