// SPDX-License-Identifier: Apache-2.0
#include "core/io/window_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string Numbers(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 >> 3);
  return bytes;
}

TEST(WindowReader, GivesTheBytesAtAnyOffset) {
  const std::string bytes = Numbers(100'000);
  const MemorySource source(bytes);
  const Request request;
  WindowReader reader(source, request);
  uint64_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const size_t offset = (state >> 33U) % bytes.size();
    const size_t length =
        WindowReader::Room(offset, bytes.size(), (state >> 20U) % 600);
    const Result<Bytes> part = reader.At(offset, length);
    ASSERT_TRUE(Ok(part));
    ASSERT_EQ(AsText(*part), bytes.substr(offset, length));
  }
}

TEST(WindowReader, ReadsAheadOnlyWhileHeadersAreClose) {
  const FaultySource near(Numbers(1 << 20));
  const Request request;
  WindowReader reader(near, request);
  for (uint64_t at = 0; at < near.size(); at += 1024) {
    ASSERT_TRUE(Ok(reader.At(at, 512)));
  }
  EXPECT_LE(near.accesses().size(), 20U);

  const FaultySource far(Numbers(1 << 20));
  WindowReader other(far, request);
  for (uint64_t at = 0; at < far.size(); at += 65'536) {
    ASSERT_TRUE(Ok(other.At(at, 512)));
  }
  EXPECT_EQ(far.bytes_read(), 16 * 512U);
}

TEST(WindowReader, FailsPastTheEndAndRecovers) {
  const FaultySource source(Numbers(1000));
  const Request request;
  WindowReader reader(source, request);
  EXPECT_TRUE(Ok(reader.At(1000, 0)));
  EXPECT_TRUE(Fails(reader.At(999, 2), Code::kCorrupt, 999));
  EXPECT_TRUE(Fails(reader.At(UINT64_MAX, 1), Code::kCorrupt, UINT64_MAX));
  ASSERT_TRUE(Ok(reader.At(990, 10)));
  EXPECT_EQ(WindowReader::Room(990, 1000), 10U);
  EXPECT_EQ(WindowReader::Room(1001, 1000), 0U);
  EXPECT_EQ(WindowReader::Room(0, UINT64_MAX), WindowReader::kMax);
}

TEST(WindowReader, AFailedReadLeavesNothingBehind) {
  FaultySource source(Numbers(10'000));
  const Request request;
  WindowReader reader(source, request);
  ASSERT_TRUE(Ok(reader.At(0, 100)));
  source.FailNext();
  EXPECT_TRUE(Fails(reader.At(5000, 100), Code::kIo));
  const Result<Bytes> again = reader.At(5000, 100);
  ASSERT_TRUE(Ok(again));
  EXPECT_EQ(AsText(*again), Numbers(10'000).substr(5000, 100));
}

}  // namespace
}  // namespace ctxfs
