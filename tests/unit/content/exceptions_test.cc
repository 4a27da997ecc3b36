// SPDX-License-Identifier: Apache-2.0
//
// Whatever is thrown while a thread works for others, no key, turn, reservation
// or lock stays behind.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/base/interrupt.h"
#include "core/content/block_cache.h"
#include "core/content/checksum_guard.h"
#include "core/content/made_once.h"
#include "core/content/read_context.h"
#include "core/content/spill_store.h"
#include "core/io/spill_file.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

constexpr int kTogether = 4;
constexpr uint64_t kRoom = 1000;
constexpr Key kShared{1, 0};

/// Lets work begin, but waits for no other thread.
class WaitsForNobody final : public Interrupt {
 public:
  bool interrupted() const override { return false; }
  bool MayTake(uint64_t bytes) const override { return bytes != kUnknownWork; }
};

struct Thrown {
  const char* name;
  void (*throw_it)();
  Code code;
};

class Exceptions : public testing::TestWithParam<Thrown> {
 protected:
  using Use = std::function<Status(const ReadContext&)>;

  /// Work that throws once all threads wait for it.
  void Work() {
    if (!throws) return;
    arrived.wait();
    GetParam().throw_it();
  }

  /// Several threads want the same at once, and their work throws. Then it does
  /// not.
  void Run(const Use& use) {
    InThreads(kTogether, [&](int) {
      arrived.count_down();
      EXPECT_TRUE(Fails(use(cache), GetParam().code));
    });
    throws = false;
    EXPECT_TRUE(Ok(use(cache)));
    ExpectNothingLeft();
  }

  void ExpectNothingLeft() {
    EXPECT_EQ(cache.stats().waiting, 0U);
    const WaitsForNobody alone;
    // Begins only if no memory is reserved.
    const TestBlock large({2, 0}, 2 * kRoom, [] { return BufferOf("large"); });
    EXPECT_TRUE(Ok(cache.Get(large, ReadContext(cache, alone))));
    // Exceeds the budget only if no other thread is counted as working.
    const TestBlock inner({2, 1}, kRoom, [] { return BufferOf("inner"); });
    const TestBlock outer({2, 2}, kRoom, [&]() -> Result<Buffer> {
      CTXFS_TRY(cache.Get(inner, ReadContext(cache, alone)));
      return BufferOf("outer");
    });
    EXPECT_TRUE(Ok(cache.Get(outer, ReadContext(cache, alone))));
  }

  BlockCache cache{kRoom};
  std::latch arrived{kTogether};
  std::atomic<bool> throws = true;
};

INSTANTIATE_TEST_SUITE_P(
    Types, Exceptions,
    testing::Values(
        Thrown{"RuntimeError", [] { throw std::runtime_error("thrown"); },
               Code::kIo},
        Thrown{"Int", [] { throw 41; }, Code::kIo},
        Thrown{"BadAlloc", [] { throw std::bad_alloc(); }, Code::kNoMemory}),
    [](const auto& of) { return std::string(of.param.name); });

TEST_P(Exceptions, Item41_10_OfABlock) {
  const TestBlock block(kShared, kRoom, [this]() -> Result<Buffer> {
    Work();
    return BufferOf("block");
  });
  Run([&](const ReadContext& context) -> Status {
    CTXFS_TRY(context.Get(block));
    return {};
  });
}

TEST_P(Exceptions, Item41_10_OfABlockWithinABlock) {
  const TestBlock inner(kShared, 10, [this]() -> Result<Buffer> {
    Work();
    return BufferOf("inner");
  });
  const TestBlock outer({1, 1}, kRoom, [&]() -> Result<Buffer> {
    CTXFS_TRY(cache.Get(inner, cache));
    return BufferOf("outer");
  });
  Run([&](const ReadContext& context) -> Status {
    CTXFS_TRY(context.Get(outer));
    return {};
  });
}

TEST_P(Exceptions, Item41_10_OfWorkThatIsDoneOnce) {
  bool done = false;
  Run([&](const ReadContext& context) {
    return context.cache().Once(
        kShared, context, [&] { return done; },
        [&](const ReadContext& /*shared*/) -> Status {
          Work();
          done = true;
          return {};
        },
        kRoom);
  });
}

TEST_P(Exceptions, Item41_10_OfABlockInATemporaryFile) {
  class Streamed final : public Block {
   public:
    explicit Streamed(std::function<void()> work)
        : Block(kShared), work_(std::move(work)) {}
    uint64_t cost() const override { return 2 * kRoom; }
    uint64_t streamed_size() const override { return 4; }
    Result<Buffer> Produce(const ReadContext& /*context*/) const override {
      return Error{Code::kCorrupt, "not in pieces"};
    }
    Status Stream(const Sink& sink, uint64_t /*memory*/,
                  const ReadContext& /*context*/) const override {
      work_();
      return sink(AsBytes(std::string_view("file")));
    }

   private:
    std::function<void()> work_;
  };
  const TempDir directory;
  const auto file = SpillFile::Make(directory.Path(""), 4);
  ASSERT_TRUE(Ok(file));
  cache.SpillTo(*file);
  const Streamed block([this] { Work(); });
  Run([&](const ReadContext& context) -> Status {
    SpillStore* const store = cache.StoreOf(block);
    CTXFS_TRY(store->Get(block, context));
    return {};
  });
}

TEST_P(Exceptions, Item41_10_OfASourceThatIsVerified) {
  class Throwing final : public Source {
   public:
    explicit Throwing(std::function<void()> work) : work_(std::move(work)) {}
    uint64_t size() const override { return 8; }
    Status ReadAt(uint64_t /*offset*/, MutableBytes out,
                  const Request& /*request*/) const override {
      work_();
      std::fill(out.begin(), out.end(), std::byte{'s'});
      return {};
    }

   private:
    std::function<void()> work_;
  };
  const ChecksumGuard guard(
      kShared,
      {std::make_shared<Throwing>([this] { Work(); }), 0, 8,
       Checksum{ChecksumKind::kCrc32c,
                Crc32c(AsBytes(std::string_view("ssssssss")))}},
      std::make_shared<AtomicVerdict>(Verdict::kUnknown));
  Run([&](const ReadContext& context) { return guard.Verify(context); });
}

TEST_P(Exceptions, Item41_10_OfAContentThatIsMadeOnce) {
  const MadeOnce once(
      [this](const ReadContext& /*context*/) -> Result<Content> {
        Work();
        return LiteralContent("made");
      });
  Run([&](const ReadContext& context) -> Status {
    CTXFS_TRY(once.Get(context));
    return {};
  });
}

TEST_P(Exceptions, Item41_10_OfATestWhetherItIsDone) {
  const auto use = [&] {
    return cache.Once(
        kShared, cache,
        [this] {
          if (throws) GetParam().throw_it();
          return false;
        },
        [](const ReadContext& /*shared*/) { return Status(); });
  };
  EXPECT_ANY_THROW((void)use());
  throws = false;
  EXPECT_TRUE(Ok(use()));
  ExpectNothingLeft();
}

TEST_P(Exceptions, Item41_10_OfAnInterruptOfOneThatWaits) {
  class Throwing final : public Interrupt {
   public:
    Throwing(std::latch& waits, void (*throw_it)())
        : waits_(waits), throw_it_(throw_it) {}
    bool interrupted() const override {
      waits_.count_down();
      throw_it_();
      return true;
    }
    bool MayTake(uint64_t /*bytes*/) const override { return true; }

   private:
    std::latch& waits_;
    void (*throw_it_)();
  };
  std::latch runs(1);
  std::latch waits(1);
  const TestBlock block(kShared, kRoom, [&]() -> Result<Buffer> {
    runs.count_down();
    waits.wait();
    return BufferOf("block");
  });
  InThreads(2, [&](int i) {
    if (i == 0) {
      EXPECT_TRUE(Ok(cache.Get(block, cache)));
      return;
    }
    runs.wait();
    const Throwing throwing(waits, GetParam().throw_it);
    EXPECT_ANY_THROW((void)cache.Get(block, ReadContext(cache, throwing)));
  });
  ExpectNothingLeft();
}

}  // namespace
}  // namespace ctxfs
