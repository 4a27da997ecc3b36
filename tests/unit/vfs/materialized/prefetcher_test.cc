// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/materialized/prefetcher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "core/base/limits.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

constexpr size_t kSize = 512 * limits::kKiB;

/// Six entries of half a MiB: zstd, but for number 3, which is raw.
class PrefetcherTest : public testing::Test {
 protected:
  PrefetcherTest() : cache_(64 * limits::kMiB) {
    ShardSpec spec;
    for (int i = 0; i < 6; ++i) {
      const std::string data(kSize, static_cast<char>('a' + i));
      const std::string name = "e" + std::to_string(i);
      spec.entries.push_back(i == 3 ? Raw(name, data) : ZstdEntry(name, data));
    }
    entries_ = (*OpenBytes(BuildShard(spec)))->Entries();
  }

  uint64_t Produced() const { return cache_.stats().produced / kSize; }

  /// Waits for another thread to have produced `blocks` in all.
  bool Reaches(uint64_t blocks) const {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (Produced() < blocks) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  /// An entry that is open, as long as the test says it is.
  OpenFile File(uint32_t entry, size_t size = kSize) const {
    OpenFile file;
    file.content = TextContent(std::string(size, 'x'));
    file.entries = entries_;
    file.entry = entry;
    return file;
  }

  bool ReachesVerified(uint64_t entries) const {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (cache_.stats().passed < entries) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::yield();
    }
    return true;
  }

  BlockCache cache_;
  std::shared_ptr<const FileTable> entries_;
};

TEST_F(PrefetcherTest, DecodesTheNextTwoOnceOneIsReadAndTheNextBegun) {
  Prefetcher ahead(cache_, 64 * limits::kMiB);
  ahead.ObserveRead(File(0), 0, kSize);
  ahead.ObserveRead(File(1), 0, 4096);
  // Entries 2 and 4 are decoded, 3 is raw and verified; 5 is too far ahead.
  ASSERT_TRUE(Reaches(1));
  ASSERT_TRUE(ReachesVerified(2));
  ahead.ObserveRead(File(1), kSize - 4096, kSize);
  ahead.ObserveRead(File(2), 0, 4096);
  EXPECT_TRUE(Reaches(2));
}

TEST_F(PrefetcherTest, DoesNothingWithoutASequence) {
  {
    Prefetcher ahead(cache_, 64 * limits::kMiB);
    ahead.ObserveRead(File(0), 0, 4096);      // begun, not read to its end
    ahead.ObserveRead(File(1), 0, 4096);      // so this is no sequel
    ahead.ObserveRead(File(4), 0, kSize);     // read alone
    ahead.ObserveRead(File(2), 4096, 8192);   // in the middle
    ahead.ObserveRead(File(0, 100), 0, 100);  // small
  }  // its threads, had there been any, are done
  EXPECT_EQ(Produced(), 0U);
}

TEST_F(PrefetcherTest, LeavesAloneWhatWouldCrowdTheCache) {
  {
    Prefetcher ahead(cache_, 2 * kSize);
    ahead.ObserveRead(File(0), 0, kSize);
    ahead.ObserveRead(File(1), 0, 4096);
  }
  EXPECT_EQ(Produced(), 0U);
}

TEST_F(PrefetcherTest, StopsInTheMiddleOfWork) {
  for (int i = 0; i < 20; ++i) {
    cache_.Drop();
    Prefetcher ahead(cache_, 64 * limits::kMiB);
    ahead.ObserveRead(File(0), 0, kSize);
    ahead.ObserveRead(File(1), 0, 4096);
  }
  SUCCEED();  // a thread left behind would be the sanitizers' to find
}

}  // namespace
}  // namespace ctxfs
