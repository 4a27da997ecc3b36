// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/formats/column_shard/repeated.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/column_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::column_shard {
namespace {

template <typename T>
std::string Le(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) {
    bytes += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  }
  return bytes;
}

std::string Delta(uint32_t rows, uint64_t first, uint64_t step, char bits = 0) {
  return Payload(3, rows, Le(first) + Le(step) + bits);
}

/// The chunk as it is computed, and as it is decoded at once.
class Repeated {
 public:
  Repeated(ColumnType type, std::string payload)
      : payload_(std::move(payload)),
        block_(std::make_shared<const TestBlock>(
            Key{11, next_++}, payload_.size(),
            [this] { return BufferOf(payload_); })) {
    Result<Chunk> chunk = ParseChunk(AsBytes(payload_), type, false);
    EXPECT_TRUE(Ok(chunk));
    transform = RepeatedValues(*chunk, AsBytes(payload_), block_);
    all.resize(chunk->count * ColumnTypeWidth(type), '?');
    decodes = DecodeFixed(*chunk, 1, std::as_writable_bytes(std::span(all)))
                  .has_value();
  }
  // The block points to this.
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  std::string Window(uint64_t at, size_t size) {
    std::string out(size, '?');
    EXPECT_TRUE(Ok(transform->Compute(
        at, std::as_writable_bytes(std::span(out)), cache_)));
    return out;
  }

  std::shared_ptr<const Transform> transform;
  std::string all;
  bool decodes = false;

 private:
  static inline uint64_t next_ = 0;
  std::string payload_;
  std::shared_ptr<const Block> block_;
  BlockCache cache_{1000};
};

void ExpectWindowsOfAll(Repeated& repeated) {
  ASSERT_NE(repeated.transform, nullptr);
  ASSERT_TRUE(repeated.decodes);
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const size_t at = random() % repeated.all.size();
    const size_t size = 1 + random() % (repeated.all.size() - at);
    ASSERT_EQ(repeated.Window(at, size), repeated.all.substr(at, size))
        << at << " " << size;
  }
}

TEST(RepeatedValues, ComputesAnyWindowOfASeries) {
  for (const ColumnType type :
       {ColumnType::kInt32, ColumnType::kInt64, ColumnType::kDatetime}) {
    Repeated up(type, Delta(300, 1'000'000'007, 3));
    ExpectWindowsOfAll(up);
    Repeated wraps(type, Delta(300, UINT64_MAX - 10, 0x0123456789ABCDEF));
    ExpectWindowsOfAll(wraps);
    Repeated same(type, Delta(1, 42, 9));
    ExpectWindowsOfAll(same);
  }
}

TEST(RepeatedValues, ComputesAnyWindowOfRuns) {
  // 5 of 0, 1 of 1, 200 of 0, 94 of 1 and more than is left.
  Repeated runs(
      ColumnType::kBool,
      Payload(2, 300, std::string("\1\5\0\1\1\xC8\1\0\xFF\xFF\3\7", 12)));
  ExpectWindowsOfAll(runs);
}

TEST(RepeatedValues, LeavesOtherChunksAlone) {
  const std::string short_runs = Payload(2, 300, std::string("\1\5\0", 3));
  for (const auto& [type, payload] :
       {std::pair(ColumnType::kInt64, Delta(2, 1, 1, 1) + "\1"),
        std::pair(ColumnType::kInt64, Payload(3, 2, "short")),
        std::pair(ColumnType::kInt64, Payload(0, 1, "12345678")),
        std::pair(ColumnType::kFloat32, Payload(4, 1, "1234")),
        std::pair(ColumnType::kBool, short_runs),
        std::pair(ColumnType::kBool, Payload(2, 3, std::string(1, '\11'))),
        std::pair(ColumnType::kBool, Payload(2, 3, ""))}) {
    EXPECT_EQ(Repeated(type, payload).transform, nullptr) << payload.size();
  }
}

TEST(RepeatedValues, TakesNoMoreThanItsPayload) {
  // As many rows as a row group may have, from 22 bytes.
  const std::string payload = Delta(1 << 25, 100, 7);
  const Result<Chunk> chunk =
      ParseChunk(AsBytes(payload), ColumnType::kInt64, false);
  ASSERT_TRUE(Ok(chunk));
  const auto block = std::make_shared<const TestBlock>(
      Key{12, 0}, payload.size(), [&] { return BufferOf(payload); });
  const auto series = RepeatedValues(*chunk, AsBytes(payload), block);
  ASSERT_NE(series, nullptr);
  BlockCache cache(1000);
  std::string last(8, '?');
  const uint64_t row = (1 << 25) - 1;
  EXPECT_TRUE(Ok(series->Compute(
      8 * row, std::as_writable_bytes(std::span(last)), cache)));
  EXPECT_EQ(last, Le(100 + 7 * row));
  EXPECT_LE(cache.stats().produced, payload.size());
}

}  // namespace
}  // namespace ctxfs::column_shard
