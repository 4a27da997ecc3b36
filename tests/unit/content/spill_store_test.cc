// SPDX-License-Identifier: Apache-2.0
//
// A reader that waits for room. One that missed what makes room, or its
// interrupt, would never end here.
#include "core/content/spill_store.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <memory>
#include <string_view>
#include <utility>

#include "core/content/block_cache.h"
#include "core/content/read_context.h"
#include "core/io/spill_file.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

constexpr std::string_view kText = "file";

class Streamed final : public Block {
 public:
  explicit Streamed(uint64_t number) : Block({1, number}) {}
  uint64_t cost() const override { return 2 * kText.size(); }
  uint64_t streamed_size() const override { return kText.size(); }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    return Error{Code::kCorrupt, "not in pieces"};
  }
  Status Stream(const Sink& sink, uint64_t /*memory*/,
                const ReadContext& /*context*/) const override {
    return sink(AsBytes(kText));
  }
};

/// A file with room for one block, which a reader has.
class ShortOfRoom : public testing::Test {
 protected:
  void SetUp() override {
    const auto file = SpillFile::Make(directory.Path(""), kText.size());
    ASSERT_TRUE(Ok(file));
    cache.SpillTo(*file);
    store = cache.StoreOf(first);
    ASSERT_NE(store, nullptr);
    auto got = store->Get(first, cache);
    ASSERT_TRUE(Ok(got));
    read = *std::move(got);
  }
  /// Another reader, who gets the second block as soon as there is room.
  std::future<Result<SpillStore::Pinned>> Begin() {
    auto got = std::async(std::launch::async, [this] {
      begun.count_down();
      return store->Get(second, ReadContext(cache, interrupt));
    });
    begun.wait();
    return got;
  }

  const TempDir directory;
  BlockCache cache{kText.size()};
  const Streamed first{1};
  const Streamed second{2};
  SpillStore* store = nullptr;
  SpillStore::Pinned read;
  SettableInterrupt interrupt;
  std::latch begun{1};
};

TEST_F(ShortOfRoom, Item42_2_WhoWaitsIsToldThatAReaderHasGone) {
  auto got = Begin();
  read.reset();
  EXPECT_TRUE(Ok(got.get()));
}

TEST_F(ShortOfRoom, Item42_2_WhoWaitsIsToldThatItIsInterrupted) {
  auto got = Begin();
  interrupt.Set();
  EXPECT_TRUE(Fails(got.get(), Code::kInterrupted));
}

}  // namespace
}  // namespace ctxfs
