// SPDX-License-Identifier: Apache-2.0
//
// Entries that are decoded into a temporary file, since they are larger than
// the cache.
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>

#include "core/base/limits.h"
#include "core/content/content.h"
#include "core/content/spill_store.h"
#include "core/formats/shard/shard.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

constexpr size_t kSpilledSize = 9'000'000;
constexpr uint64_t kSmallCache = 6 << 20;

const std::string& SpilledText() {
  static const std::string text = Prose(kSpilledSize);
  return text;
}

/// A Shard of zstd entries "x", "y", ... of kSpilledSize bytes, and a small
/// cache with a temporary file of `most` bytes.
class SpillingShard {
 public:
  explicit SpillingShard(uint64_t most = 10 * kSpilledSize, int entries = 1,
                         uint32_t crc_error = 0) {
    ShardSpec spec;
    for (int i = 0; i < entries; ++i) {
      spec.entries.push_back(
          ZstdEntry(std::string(1, static_cast<char>('x' + i)), SpilledText()));
      spec.entries.back().checksum ^= crc_error;
    }
    source = std::make_shared<FaultySource>(BuildShard(spec));
    container = *OpenAs<shard::ShardContainer>(source, {});
    cache.SpillTo(*SpillFile::Make(directory_.Path(""), most));
  }

  Result<std::string> Read(uint64_t at, size_t size, uint32_t entry = 0) {
    const Result<Content> content = OpenEntry(*container, entry);
    if (!content) return content.error();
    Window window;
    Status read = content->Read(at, size, cache, window);
    if (!read) return std::move(read).error();
    std::string bytes;
    for (const Bytes slice : window.slices()) bytes += AsText(slice);
    return bytes;
  }

 private:
  TempDir directory_;

 public:
  std::shared_ptr<FaultySource> source;
  std::shared_ptr<const Container> container;
  BlockCache cache{kSmallCache};
};

/// A block that says it can be made in pieces.
class LargeBlock final : public Block {
 public:
  explicit LargeBlock(uint64_t size) : Block({NewOwner(), 0}), size_(size) {}

  uint64_t cost() const override { return size_; }
  uint64_t streamed_size() const override { return size_; }
  Result<Buffer> Produce(const ReadContext& /*context*/) const override {
    return Buffer();
  }

 private:
  uint64_t size_;
};

TEST(SpillStore, HasWhatIsLargerThanTheCache) {
  SpillingShard shard;
  EXPECT_TRUE(*shard.Read(kSpilledSize - 10, 10) ==
              SpilledText().substr(kSpilledSize - 10));
  const uint64_t once = shard.source->bytes_read();
  EXPECT_TRUE(*shard.Read(0, kSpilledSize) == SpilledText());
  EXPECT_TRUE(*shard.Read(12'345, 678) == SpilledText().substr(12'345, 678));
  EXPECT_EQ(shard.source->bytes_read(), once) << "decoded once";
  const BlockCache::Stats stats = shard.cache.stats();
  EXPECT_EQ(stats.bytes, 0U) << "nothing in memory";
  EXPECT_EQ(stats.spilled, kSpilledSize);
  EXPECT_EQ(stats.passed, 1U);
  EXPECT_EQ(DescribeEntry(*shard.container, 0).verified, "yes");
}

TEST(SpillStore, DecodesOnceForManyThreads) {
  SpillingShard shard;
  InThreads(8, [&](int i) {
    const auto at = static_cast<size_t>(i) * 1000;
    EXPECT_TRUE(*shard.Read(at, 1000) == SpilledText().substr(at, 1000));
  });
  EXPECT_EQ(shard.cache.stats().passed, 1U);
}

TEST(SpillStore, ServesNothingThatDoesNotMatch) {
  SpillingShard shard(10 * kSpilledSize, 1, /*crc_error=*/1);
  EXPECT_TRUE(Fails(shard.Read(0, 10), Code::kChecksum));
  EXPECT_EQ(shard.cache.stats().failed, 1U);
  EXPECT_EQ(shard.cache.stats().spilled, 0U);
  const uint64_t calls = shard.source->calls();
  EXPECT_TRUE(Fails(shard.Read(0, 10), Code::kCorrupt));
  EXPECT_EQ(shard.source->calls(), calls) << "known without reading";
}

TEST(SpillStore, ForgetsAFailureOfTheStore) {
  SpillingShard shard;
  shard.source->FailAfter(0);
  EXPECT_TRUE(Fails(shard.Read(0, 10), Code::kIo));
  EXPECT_EQ(shard.cache.stats().spilled, 0U);
  EXPECT_TRUE(*shard.Read(0, 10) == SpilledText().substr(0, 10));
}

TEST(SpillStore, ServesNothingOnceTheSourceHasChanged) {
  SpillingShard shard;
  EXPECT_TRUE(Ok(shard.Read(0, 10)));
  shard.source->GoStaleAfter(0);
  EXPECT_TRUE(Fails(shard.Read(0, 10), Code::kStale));
}

TEST(SpillStore, LetsGoOfTheOldest) {
  SpillingShard shard(2 * kSpilledSize, 3);
  for (const uint32_t entry : {0U, 1U, 0U, 2U, 0U}) {
    EXPECT_TRUE(*shard.Read(0, 10, entry) == SpilledText().substr(0, 10));
  }
  EXPECT_EQ(shard.cache.stats().passed, 3U) << "1 made room for 2";
  EXPECT_EQ(shard.cache.stats().spilled, 2 * kSpilledSize);
  EXPECT_TRUE(Ok(shard.Read(0, 10, 1)));
  EXPECT_EQ(shard.cache.stats().passed, 4U);
}

TEST(SpillStore, KeepsWhatItHasWhenAnotherCanNeverFit) {
  SpillingShard shard(kSpilledSize, 2);
  EXPECT_TRUE(Ok(shard.Read(0, 10)));
  const LargeBlock large(kSpilledSize + 1);
  SpillStore* const store = shard.cache.StoreOf(large);
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(Fails(store->Get(large, shard.cache), Code::kIo));
  EXPECT_EQ(shard.cache.stats().spilled, kSpilledSize);
  EXPECT_TRUE(Ok(shard.Read(0, 10)));
  EXPECT_EQ(shard.cache.stats().passed, 1U) << "decoded once";
}

TEST(SpillStore, Item28_17_TakesNoMemoryForWhatTheDiskHasNoRoomFor) {
  SpillingShard shard(kSpilledSize - 1);
  const Result<std::string> read = shard.Read(5, 10);
  ASSERT_TRUE(Fails(read, Code::kIo));
  EXPECT_EQ(read.error().sys_errno, ENOSPC);
  EXPECT_EQ(shard.cache.stats().spilled, 0U);
  EXPECT_EQ(shard.cache.stats().bytes, 0U);
  EXPECT_EQ(shard.cache.stats().produced, 0U);
}

TEST(SpillStore, Item28_17_ReadersOfMoreThanThereIsRoomForTakeTurns) {
  constexpr int kReaders = 3;
  SpillingShard shard(kSpilledSize, kReaders);
  constexpr size_t kPiece = 128 << 10;
  InThreads(kReaders, [&](int i) {
    for (size_t at = 0; at + kPiece < kSpilledSize; at += kPiece) {
      EXPECT_TRUE(*shard.Read(at, kPiece, static_cast<uint32_t>(i)) ==
                  SpilledText().substr(at, kPiece));
    }
  });
  EXPECT_LE(shard.cache.stats().passed, 3U * kReaders)
      << "each reader of " << kSpilledSize / kPiece
      << " pieces has them decoded a few times at most";
}

TEST(SpillStore, CountsAsWork) {
  SpillingShard shard;
  const Result<Content> content = OpenEntry(*shard.container, 0);
  Work little(kSpilledSize - 1, 100);
  Window window;
  EXPECT_TRUE(
      Fails(content->Read(0, 10, ReadContext(shard.cache).With(little), window),
            Code::kLimit));
  EXPECT_EQ(shard.cache.stats().spilled, 0U);
}

TEST(SpillStore, IsNeededForWhatMemoryMayNotTake) {
  // 40,000 bytes can be a gigabyte of one byte: as much as zstd can say.
  ShardEntry entry = ZstdEntry("x", Noise(40'000));
  entry.orig_size = limits::kDecodedBytes + 1;
  const ContainerResult opened = OpenBytes(BuildShard({{entry}}));
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(EntrySize(**opened, 0), limits::kDecodedBytes + 1);
  EXPECT_EQ(DescribeEntry(**opened, 0).note, "");
  const Result<Content> content = OpenEntry(**opened, 0);
  ASSERT_TRUE(Ok(content));
  BlockCache cache(kSmallCache);
  Window window;
  EXPECT_TRUE(Fails(content->Read(0, 10, cache, window), Code::kLimit));
  // With a file it is decoded, and is not as long as it says.
  const TempDir directory;
  cache.SpillTo(*SpillFile::Make(directory.Path(""), UINT64_MAX));
  EXPECT_TRUE(Fails(content->Read(0, 10, cache, window), Code::kCorrupt));
  EXPECT_EQ(cache.stats().spilled, 0U);
}

}  // namespace
}  // namespace ctxfs
