// SPDX-License-Identifier: Apache-2.0
//
// Entries of a Shard v2 container, read (docs/formats/shard.md, sections 9 and
// 10).
#include <gtest/gtest.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/container/open.h"
#include "core/formats/shard/shard.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs::shard {
namespace {

const std::string& Plain() {
  static const std::string text = Prose(1000);
  return text;
}

/// Opens a container of this one entry, which lies at kOnlyAt, and reads it.
constexpr uint64_t kOnlyAt = 64 + 48 + 2;
Result<std::string> ReadOnly(ShardEntry entry, uint8_t compression_default = 0,
                             uint16_t flags = 0x0020,
                             OpenOptions options = {}) {
  entry.name = "x";
  ContainerResult opened = OpenBytes(
      BuildShard({{std::move(entry)}, flags, 1, compression_default}), options);
  if (!opened) return std::move(opened).error();
  return ReadEntry(**opened, 0);
}

TEST(ShardRead, ChoosesTheCodecByFlagsDefaultAndBytes) {
  enum Outcome { kPlain, kStored, kRefused };
  const std::string zstd = Zstd(Plain());
  const std::string lz4 = Lz4(Plain());
  struct Case {
    uint16_t flags;
    const std::string& stored;
    Outcome by_default[4];  // for compression_default 0, 1, 2 and 9
  };
  constexpr Outcome kP = kPlain, kS = kStored, kR = kRefused;
  const Case cases[] = {
      {0x0000, zstd, {kS, kS, kS, kS}}, {0x0002, zstd, {kS, kS, kS, kS}},
      {0x0004, lz4, {kS, kS, kS, kS}},  {0x0006, zstd, {kS, kS, kS, kS}},
      {0x0008, zstd, {kS, kS, kS, kS}}, {0xFFFE, zstd, {kS, kS, kS, kS}},
      {0x0003, zstd, {kP, kP, kP, kP}}, {0x0003, lz4, {kR, kR, kR, kR}},
      {0x000B, zstd, {kP, kP, kP, kP}}, {0xFFF3, zstd, {kP, kP, kP, kP}},
      {0x0005, lz4, {kP, kP, kP, kP}},  {0x0005, zstd, {kR, kR, kR, kR}},
      {0x0007, zstd, {kP, kP, kP, kP}}, {0x0007, lz4, {kP, kP, kP, kP}},
      {0x0001, zstd, {kR, kP, kR, kR}}, {0x0001, lz4, {kR, kR, kP, kR}},
      {0x0009, zstd, {kR, kP, kR, kR}}, {0x0009, lz4, {kR, kR, kP, kR}},
  };
  constexpr uint8_t kDefaults[] = {0, 1, 2, 9};
  for (const Case& c : cases) {
    for (size_t i = 0; i < 4; ++i) {
      const Outcome outcome = c.by_default[i];
      ShardEntry entry = Compressed("x", Plain(), c.stored, c.flags);
      if (outcome == kStored) entry.checksum = Crc32c(AsBytes(c.stored));
      const Result<std::string> read = ReadOnly(entry, kDefaults[i]);
      const std::string label =
          std::to_string(c.flags) + " " + std::to_string(kDefaults[i]);
      if (outcome == kRefused) {
        EXPECT_TRUE(Fails(read, Code::kCorrupt, kOnlyAt)) << label;
        continue;
      }
      ASSERT_TRUE(Ok(read)) << label;
      EXPECT_TRUE(*read == (outcome == kPlain ? Plain() : c.stored)) << label;
    }
  }
}

TEST(ShardRead, TakesBytesFlaggedCompressedButStoredRaw) {
  const std::string bytes = Noise(300);
  for (const auto compression_default :
       std::initializer_list<uint8_t>{0, 1, 2, 9}) {
    ShardEntry entry = Compressed("x", bytes, bytes, 0x0001);
    EXPECT_TRUE(*ReadOnly(entry, compression_default) == bytes);
    entry.checksum = 0;
    EXPECT_TRUE(*ReadOnly(entry, compression_default, 0) == bytes)
        << "without a checksum too";
    entry.checksum = 1;
    const Result<std::string> read = ReadOnly(entry, compression_default);
    ASSERT_FALSE(read.has_value());
    EXPECT_TRUE(read.error().Permanent());
  }
}

TEST(ShardRead, DecodesWhatIsAsLongAsItsStoredForm) {
  std::string text;
  std::string frame;
  for (size_t n = 0; n < 100 && (n == 0 || frame.size() != text.size()); ++n) {
    text = Noise(100) + std::string(n, 'a');
    frame = Zstd(text);
  }
  ASSERT_EQ(frame.size(), text.size());
  ShardEntry entry = Compressed("x", text, frame, 0x0003);
  EXPECT_TRUE(*ReadOnly(entry) == text);
  entry.checksum = 0;
  EXPECT_TRUE(*ReadOnly(entry, 0, 0) == text) << "the codec is tried first";
}

TEST(ShardRead, VerifiesDecodedOrStoredBytes) {
  for (const auto header_flags :
       std::initializer_list<uint16_t>{0x0000, 0x0020}) {
    ShardEntry entry = ZstdEntry("x", Plain());
    EXPECT_TRUE(*ReadOnly(entry, 0, header_flags) == Plain());
    entry.checksum = Crc32c(AsBytes(entry.stored));
    EXPECT_TRUE(*ReadOnly(entry, 0, header_flags) == Plain());
    ++entry.checksum;
    EXPECT_TRUE(
        Fails(ReadOnly(entry, 0, header_flags), Code::kChecksum, kOnlyAt));
    EXPECT_TRUE(*ReadOnly(entry, 0, header_flags, kNoVerify) == Plain());

    ShardEntry raw = Raw("x", "hello");
    EXPECT_EQ(*ReadOnly(raw, 0, header_flags), "hello");
    ++raw.checksum;
    EXPECT_TRUE(
        Fails(ReadOnly(raw, 0, header_flags), Code::kChecksum, kOnlyAt));
    EXPECT_EQ(*ReadOnly(raw, 0, header_flags, kNoVerify), "hello");
  }
}

TEST(ShardRead, TakesZeroForAChecksumWhereTheHeaderSaysSo) {
  for (ShardEntry entry :
       {Raw("x", Plain()), ZstdEntry("x", Plain()), Lz4Entry("x", Plain())}) {
    entry.checksum = 0;
    EXPECT_TRUE(Fails(ReadOnly(entry, 0, 0x0020), Code::kChecksum, kOnlyAt));
    EXPECT_TRUE(*ReadOnly(entry, 0, 0xFFDF) == Plain());
    EXPECT_TRUE(*ReadOnly(entry, 0, 0x0020, kNoVerify) == Plain());
  }
  EXPECT_EQ(*ReadOnly(Raw("x", "")), "") << "0 is the checksum of nothing";
}

TEST(ShardRead, ReadsEmptyEntriesOfEveryKind) {
  const std::string nothing;
  EXPECT_EQ(*ReadOnly(Compressed("", nothing, Zstd(nothing), 0x0003)), "");
  EXPECT_EQ(*ReadOnly(Compressed("", nothing, std::string(1, '\0'), 0x0005)),
            "");
  for (const auto flags :
       std::initializer_list<uint16_t>{0x0001, 0x0003, 0x0005, 0x0007}) {
    EXPECT_EQ(*ReadOnly(Compressed("", nothing, "", flags)), "");
    ShardEntry missing = Compressed("", Plain(), "", flags);
    EXPECT_TRUE(Fails(ReadOnly(missing), Code::kCorrupt, kOnlyAt));
  }
  ShardEntry wrong = Compressed("", nothing, Zstd(nothing), 0x0003);
  wrong.checksum = 1;
  EXPECT_TRUE(Fails(ReadOnly(wrong), Code::kChecksum, kOnlyAt))
      << "a file of no bytes may be a damaged one";
}

TEST(ShardRead, RefusesEveryDecodedSizeButTheRightOne) {
  for (const uint64_t size : {0U, 999U, 1001U, 5000U}) {
    for (ShardEntry entry : {ZstdEntry("x", Plain()), Lz4Entry("x", Plain())}) {
      entry.orig_size = size;
      EXPECT_TRUE(Fails(ReadOnly(entry), Code::kCorrupt, kOnlyAt)) << size;
      entry.checksum = 0;
      EXPECT_TRUE(Fails(ReadOnly(entry, 0, 0), Code::kCorrupt, kOnlyAt));
    }
  }
}

TEST(ShardRead, LimitsWhatAnEntryMayDecodeTo) {
  for (const uint64_t size :
       {limits::kDecodedBytes, limits::kDecodedBytes + 1U, UINT64_MAX}) {
    ShardEntry entry = ZstdEntry("x", Plain());
    entry.orig_size = size;
    const ContainerResult opened = OpenBytes(BuildShard({{entry}}));
    ASSERT_TRUE(Ok(opened)) << "it is that entry's fault alone";
    if (size == limits::kDecodedBytes) {
      EXPECT_EQ(EntrySize(**opened, 0), size);
      EXPECT_TRUE(Ok(OpenEntry(**opened, 0)));
    } else {
      EXPECT_EQ(EntrySize(**opened, 0), 0U);
      EXPECT_TRUE(Fails(OpenEntry(**opened, 0), Code::kLimit,
                        RecordField(0, kOrigSizeField)));
      EXPECT_NE(DescribeEntry(**opened, 0).note, "");
    }
  }
  // Raw data is as long as it is.
  ShardEntry raw = Raw("x", "hello");
  raw.orig_size = UINT64_MAX;
  EXPECT_EQ(*ReadOnly(raw), "hello");
}

TEST(ShardRead, LimitsWhatAnEntryMayDecodeFrom) {
  std::string head = BuildShard({{ZstdEntry("x", Plain())}});
  const uint64_t size = kOnlyAt + limits::kStoredBytes + 1;
  Poke(head, 40, size);
  for (const uint64_t stored :
       {limits::kStoredBytes, limits::kStoredBytes + 1U}) {
    Poke(head, RecordField(0, kDiskSizeField), stored);
    const ContainerResult opened =
        OpenAs<ShardContainer>(std::make_shared<SparseSource>(head, size), {});
    ASSERT_TRUE(Ok(opened));
    const Result<Content> content = OpenEntry(**opened, 0);
    EXPECT_EQ(content.has_value(), stored == limits::kStoredBytes);
    if (!content) {
      EXPECT_TRUE(Fails(content, Code::kLimit));
    }
  }
}

TEST(ShardRead, RemembersDamageWithoutReadingAgain) {
  ShardEntry wrong = ZstdEntry("wrong", Plain());
  ++wrong.checksum;
  ShardEntry torn = ZstdEntry("torn", Plain());
  torn.stored.pop_back();
  ShardEntry raw = Raw("raw", Plain());
  ++raw.checksum;
  const auto source = std::make_shared<FaultySource>(
      BuildShard({{Raw("good", "hello"), wrong, torn, raw}}));
  const ContainerResult opened = OpenAs<ShardContainer>(source, {});
  ASSERT_TRUE(Ok(opened));
  BlockCache cache(1 << 20);
  for (uint32_t entry = 1; entry < 4; ++entry) {
    const uint64_t at = DescribeEntry(**opened, entry).offset;
    EXPECT_TRUE(Fails(ReadEntry(**opened, entry, cache),
                      entry == 2 ? Code::kCorrupt : Code::kChecksum, at));
    const uint64_t calls = source->calls();
    for (int again = 0; again < 3; ++again) {
      const Result<std::string> read = ReadEntry(**opened, entry, cache);
      ASSERT_FALSE(read.has_value());
      EXPECT_TRUE(read.error().Permanent());
      EXPECT_EQ(read.error().offset, at);
    }
    EXPECT_EQ(source->calls(), calls);
  }
  EXPECT_EQ(*ReadEntry(**opened, 0, cache), "hello");
  EXPECT_EQ(cache.stats().passed, 1U);
  EXPECT_EQ(cache.stats().failed, 2U)
      << "two checksums did not match; asking again is no verification";
}

TEST(ShardRead, VerifiesAnEntryOnceForAllItsOpens) {
  const auto source =
      std::make_shared<FaultySource>(BuildShard({{Raw("a", Noise(1000))}}));
  const ContainerResult opened = OpenAs<ShardContainer>(source, {});
  ASSERT_TRUE(Ok(opened));
  BlockCache cache(1 << 20);
  Window window;
  source->ForgetAccesses();
  for (uint64_t i = 0; i < 5; ++i) {
    const Result<Content> content = OpenEntry(**opened, 0);
    ASSERT_TRUE(Ok(content));
    ASSERT_TRUE(Ok(content->Read(i * 10, 10, cache, window)));
  }
  EXPECT_EQ(source->bytes_read(), 1000 + 5 * 10U);
  EXPECT_EQ(cache.stats().passed, 1U);
}

TEST(ShardRead, ReadsOnlyTheWindowWhereNothingVerifies) {
  ShardEntry entry = Raw("a", Noise(1 << 20));
  entry.checksum = 0;
  const auto source =
      std::make_shared<FaultySource>(BuildShard({{entry}, 0x0000}));
  const ContainerResult opened = OpenAs<ShardContainer>(source, {});
  ASSERT_TRUE(Ok(opened));
  source->ForgetAccesses();
  const Result<Content> content = OpenEntry(**opened, 0);
  ASSERT_TRUE(Ok(content));
  BlockCache cache(1 << 20);
  Window window;
  ASSERT_TRUE(Ok(content->Read(5000, 4096, cache, window)));
  EXPECT_EQ(source->accesses(),
            (std::vector<FaultySource::Access>{{kOnlyAt + 5000, 4096}}));
}

std::string AllKinds() {
  ShardEntry unsummed = Raw("unsummed", "hello");
  unsummed.checksum = 0;
  return BuildShard(
      {{Raw("raw", Prose(3000)), unsummed, ZstdEntry("zstd", Prose(2000)),
        Lz4Entry("lz4", Prose(1500)), Raw("empty", ""),
        Compressed("both", Plain(), Zstd(Plain()), 0x0007)},
       0x0000,
       1,
       1,
       R"({"entry_metadata":{"raw":{"k":1}}})"});
}

/// Opens `source` and reads all there is in it.
Result<std::string> ReadEverything(std::shared_ptr<const Source> source) {
  ContainerResult opened = OpenContainer(std::move(source), {});
  if (!opened) return std::move(opened).error();
  BlockCache cache(1 << 20);
  std::string all;
  for (uint32_t i = 0; i < EntryCount(**opened); ++i) {
    Result<std::string> bytes = ReadEntry(**opened, i, cache);
    if (!bytes) return std::move(bytes).error();
    all += *bytes;
  }
  return all;
}

TEST(ShardRead, GivesAnErrorWhicheverCallOfTheStoreFails) {
  const auto source = std::make_shared<FaultySource>(AllKinds());
  const Result<std::string> all = ReadEverything(source);
  ASSERT_TRUE(Ok(all));
  EXPECT_EQ(all->size(), 3000 + 5 + 2000 + 1500 + 1000U);
  const uint64_t calls = source->calls();
  ASSERT_GT(calls, 10U);
  for (uint64_t n = 0; n < calls; ++n) {
    source->FailAfter(n);
    EXPECT_TRUE(Fails(ReadEverything(source), Code::kIo)) << n;
    source->Heal();
    EXPECT_TRUE(*ReadEverything(source) == *all) << n;
    source->GoStaleAfter(n);
    EXPECT_TRUE(Fails(ReadEverything(source), Code::kStale)) << n;
    source->Heal();
  }
}

TEST(ShardRead, TriesAgainWithinOneContainer) {
  const auto source = std::make_shared<FaultySource>(AllKinds());
  const ContainerResult opened = OpenContainer(source, {});
  ASSERT_TRUE(Ok(opened));
  for (uint32_t entry = 0; entry < 6; ++entry) {
    BlockCache cache(1 << 20);
    const uint64_t before = source->calls();
    const Result<std::string> whole = ReadEntry(**opened, entry, cache);
    ASSERT_TRUE(Ok(whole));
    const uint64_t calls = source->calls() - before;
    for (uint64_t n = 0; n < calls; ++n) {
      cache.Drop();
      source->FailAfter(n);
      const Result<std::string> failed = ReadEntry(**opened, entry, cache);
      source->Heal();
      if (!failed) {
        EXPECT_TRUE(Fails(failed, Code::kIo));
      }
      EXPECT_TRUE(*ReadEntry(**opened, entry, cache) == *whole);
    }
  }
}

TEST(ShardRead, ServesNoDecodedBytesOfAStoreThatChanged) {
  const auto source = std::make_shared<FaultySource>(AllKinds());
  const ContainerResult opened = OpenContainer(source, {});
  ASSERT_TRUE(Ok(opened));
  BlockCache cache(1 << 20);
  EXPECT_TRUE(Ok(ReadEntry(**opened, 2, cache)));
  source->GoStaleAfter(0);
  EXPECT_TRUE(Fails(ReadEntry(**opened, 2, cache), Code::kStale));
}

TEST(ShardRead, ServesManyThreadsFromASmallCache) {
  const ContainerResult opened = OpenBytes(AllKinds());
  ASSERT_TRUE(Ok(opened));
  std::vector<std::string> expected;
  for (uint32_t i = 0; i < 6; ++i) expected.push_back(*ReadEntry(**opened, i));
  const ContainerResult fresh = OpenBytes(AllKinds());
  BlockCache cache(5000);
  std::atomic<int> wrong = 0;
  InThreads(8, [&](int thread) {
    for (int i = 0; i < 60; ++i) {
      const auto entry = static_cast<uint32_t>((i + thread) % 6);
      const Result<std::string> read = ReadEntry(**fresh, entry, cache);
      if (!read || *read != expected[entry]) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ctxfs::shard
