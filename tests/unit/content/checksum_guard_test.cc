// SPDX-License-Identifier: Apache-2.0
#include "core/content/checksum_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Access = FaultySource::Access;

/// `length` guarded bytes at 100 of a source that has more on both sides.
class Guarded {
 public:
  explicit Guarded(size_t length, uint32_t crc_error = 0)
      : bytes_(Noise(100 + length + 50)),
        source(std::make_shared<FaultySource>(bytes_)),
        verdict(std::make_shared<AtomicVerdict>(Verdict::kUnknown)),
        guard({1, 0},
              {source, 100, length,
               Checksum{ChecksumKind::kCrc32c,
                        Crc32c(AsBytes(Expected(0, length))) ^ crc_error}},
              verdict) {}

  std::string Expected(size_t at, size_t size) const {
    return bytes_.substr(100 + at, size);
  }
  /// Reads at `at` of the guarded bytes.
  Result<std::string> Read(size_t at, size_t size) {
    std::string out(size, '?');
    Status read =
        guard.Read(100 + at, std::as_writable_bytes(std::span(out)), cache);
    if (!read) return std::move(read).error();
    return out;
  }

 private:
  std::string bytes_;

 public:
  std::shared_ptr<FaultySource> source;
  std::shared_ptr<AtomicVerdict> verdict;
  ChecksumGuard guard;
  BlockCache cache{1 << 20};
};

TEST(ChecksumGuard, TouchesNothingBeforeTheFirstRead) {
  const Guarded guarded(800);
  EXPECT_EQ(guarded.source->calls(), 0U);
  EXPECT_EQ(*guarded.verdict, Verdict::kUnknown);
}

TEST(ChecksumGuard, ScansAllBytesBeforeTheFirstWindowAndNeverAgain) {
  Guarded guarded(800);
  EXPECT_TRUE(*guarded.Read(10, 20) == guarded.Expected(10, 20));
  EXPECT_EQ(*guarded.verdict, Verdict::kPassed);
  EXPECT_TRUE(*guarded.Read(0, 5) == guarded.Expected(0, 5));
  EXPECT_TRUE(*guarded.Read(0, 800) == guarded.Expected(0, 800));
  EXPECT_TRUE(Ok(guarded.guard.Verify(guarded.cache)));
  EXPECT_EQ(guarded.source->accesses(),
            (std::vector<Access>{{100, 800}, {110, 20}, {100, 5}, {100, 800}}));
  EXPECT_EQ(guarded.cache.stats().passed, 1U);
}

TEST(ChecksumGuard, ScansLargeRangesInPieces) {
  constexpr size_t kLength = 700 * 1024 + 3;
  Guarded guarded(kLength);
  EXPECT_TRUE(Ok(guarded.guard.Verify(guarded.cache)));
  uint64_t next = 100;
  for (const Access& access : guarded.source->accesses()) {
    EXPECT_EQ(access.offset, next);
    EXPECT_LE(access.length, 1U << 20) << "a scan has little memory";
    next += access.length;
  }
  EXPECT_EQ(next, 100 + kLength);
  EXPECT_GT(guarded.source->accesses().size(), 1U);
  EXPECT_TRUE(*guarded.Read(kLength - 9, 9) ==
              guarded.Expected(kLength - 9, 9));
}

TEST(ChecksumGuard, ReadsOnceWhenAllIsWanted) {
  Guarded guarded(800);
  EXPECT_TRUE(*guarded.Read(0, 800) == guarded.Expected(0, 800));
  EXPECT_EQ(guarded.source->accesses(), (std::vector<Access>{{100, 800}}));
  EXPECT_EQ(*guarded.verdict, Verdict::kPassed);
  EXPECT_TRUE(*guarded.Read(799, 1) == guarded.Expected(799, 1));
  EXPECT_EQ(guarded.source->bytes_read(), 801U);
}

TEST(ChecksumGuard, RemembersAMismatch) {
  for (const size_t first_read : {20U, 800U}) {
    Guarded guarded(800, /*crc_error=*/1);
    EXPECT_TRUE(Fails(guarded.Read(0, first_read), Code::kChecksum, 100));
    EXPECT_EQ(*guarded.verdict, Verdict::kFailed);
    const uint64_t calls = guarded.source->calls();
    EXPECT_TRUE(Fails(guarded.Read(0, 20), Code::kChecksum, 100));
    EXPECT_TRUE(Fails(guarded.Read(0, 800), Code::kChecksum, 100));
    EXPECT_TRUE(
        Fails(guarded.guard.Verify(guarded.cache), Code::kChecksum, 100));
    EXPECT_EQ(guarded.source->calls(), calls) << "known without reading";
    EXPECT_EQ(guarded.cache.stats().failed, 1U);
    EXPECT_EQ(guarded.cache.stats().passed, 0U);
  }
}

TEST(ChecksumGuard, ForgetsAFailureOfTheStore) {
  constexpr size_t kLength = 600 * 1024;
  for (const size_t size : {size_t{20}, kLength}) {
    for (uint64_t call = 0; call < (size == kLength ? 1U : 4U); ++call) {
      Guarded guarded(kLength);
      guarded.source->FailAfter(call);
      EXPECT_TRUE(Fails(guarded.Read(0, size), Code::kIo)) << call;
      EXPECT_EQ(*guarded.verdict == Verdict::kUnknown, call < 3) << call;
      EXPECT_TRUE(*guarded.Read(0, size) == guarded.Expected(0, size)) << call;
      EXPECT_EQ(*guarded.verdict, Verdict::kPassed);
      EXPECT_EQ(guarded.cache.stats().passed, 1U);
      EXPECT_EQ(guarded.cache.stats().failed, 0U);
    }
  }
}

TEST(ChecksumGuard, GivesNoVerdictOnAStaleSource) {
  Guarded guarded(800);
  guarded.source->GoStaleAfter(0);
  EXPECT_TRUE(Fails(guarded.Read(0, 20), Code::kStale));
  EXPECT_TRUE(Fails(guarded.Read(0, 800), Code::kStale));
  EXPECT_EQ(*guarded.verdict, Verdict::kUnknown);
}

TEST(ChecksumGuard, KnowsWhatAnotherGuardOfTheSameBytesHasFound) {
  Guarded guarded(800);
  *guarded.verdict = Verdict::kPassed;
  EXPECT_TRUE(*guarded.Read(1, 2) == guarded.Expected(1, 2));
  EXPECT_EQ(guarded.source->accesses(), (std::vector<Access>{{101, 2}}));
  *guarded.verdict = Verdict::kFailed;
  EXPECT_TRUE(Fails(guarded.Read(1, 2), Code::kChecksum));
}

TEST(ChecksumGuard, GuardsEmptyRangesToo) {
  Guarded right(0);
  EXPECT_TRUE(Ok(right.Read(0, 0)));
  EXPECT_TRUE(Ok(right.guard.Verify(right.cache)));
  EXPECT_EQ(*right.verdict, Verdict::kPassed);
  Guarded wrong(0, /*crc_error=*/1);
  EXPECT_TRUE(Fails(wrong.guard.Verify(wrong.cache), Code::kChecksum, 100));
}

TEST(ChecksumGuard, ScansOnceForManyThreads) {
  constexpr int kThreads = 16;
  for (const bool damaged : {false, true}) {
    Guarded guarded(2000, damaged ? 1 : 0);
    std::atomic<int> right = 0;
    InThreads(kThreads, [&](int i) {
      const auto at = static_cast<size_t>(i) * 100;
      const Result<std::string> read = guarded.Read(at, 100);
      if (damaged ? Fails(read, Code::kChecksum, 100)
                  : ::testing::AssertionResult(
                        read && *read == guarded.Expected(at, 100))) {
        ++right;
      }
    });
    EXPECT_EQ(right, kThreads);
    const std::vector<Access> accesses = guarded.source->accesses();
    EXPECT_EQ(std::count(accesses.begin(), accesses.end(), Access{100, 2000}),
              1);
    EXPECT_EQ(accesses.size(), damaged ? 1U : 1U + kThreads);
    EXPECT_EQ(accesses.front(), (Access{100, 2000}));
    EXPECT_EQ(guarded.cache.stats().passed, damaged ? 0U : 1U);
    EXPECT_EQ(guarded.cache.stats().failed, damaged ? 1U : 0U);
  }
}

}  // namespace
}  // namespace ctxfs
