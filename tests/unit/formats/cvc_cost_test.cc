// SPDX-License-Identifier: Apache-2.0
//
// What opening, describing and reading vector collections costs.
#include <gtest/gtest.h>

#include <chrono>

#include "core/container/format.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/cvc_builder.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::cvc {
namespace {

/// Counts reads and bytes.
class CountingSource final : public Source {
 public:
  explicit CountingSource(std::string all) : inner_(std::move(all)) {}
  uint64_t size() const override { return inner_.size(); }
  Status ReadAt(uint64_t offset, MutableBytes out,
                const Request& request) const override {
    ++reads;
    bytes += out.size();
    return inner_.ReadAt(offset, out, request);
  }
  mutable uint64_t reads = 0;
  mutable uint64_t bytes = 0;

 private:
  MemorySource inner_;
};

TEST(Cvc, AHundredThousandChunksCostTheirRecords) {
  constexpr int kChunks = 100'000;
  std::string chunks;
  std::string data;
  for (int i = 0; i < kChunks; ++i) {
    chunks += i == 0 ? "" : ",";
    chunks += R"({"compression":"fp16","rows":2})";
    data += Chunk(kHalves);
  }
  const std::string json =
      Single("\"chunks\":[" + chunks + "]", "fp16", 2 * kChunks);
  auto source = std::make_shared<CountingSource>(New(json) + data);
  const int64_t before = HeapBytes();
  const auto container = OpenContainer(source, {});
  ASSERT_TRUE(container);
  EXPECT_LE(HeapBytes() - before, static_cast<int64_t>(4 * json.size()));
  EXPECT_LE(source->bytes, json.size() + 8 * kChunks + 8192);
  {
    const ContainerTree container_tree(*container);
    EXPECT_LE(HeapBytes() - before, static_cast<int64_t>(8 * json.size()));
  }

  // A window costs the chunks it touches: checksum and bytes of each.
  const Result<Content> content = OpenEntry(**container, 0);
  BlockCache cache(0);
  Window window;
  source->reads = 0;
  source->bytes = 0;
  ASSERT_TRUE(content->Read(16 * 77'777 + 8, 16, cache, window));
  EXPECT_EQ(source->reads, 4U);
  EXPECT_EQ(source->bytes, 2 * 8U + 2 * 4U);
  source->bytes = 0;
  ASSERT_TRUE(content->Read(16 * 77'777, 16, cache, window));
  EXPECT_EQ(source->bytes, 8U);  // not verified twice
}

/// A file of `columns` columns, of which only the first is in the chunks.
std::string Wide(int columns, int chunks) {
  std::string json = R"({"format_type":"columnar","num_vectors":)" +
                     std::to_string(chunks) + R"(,"chunks":[)";
  std::string data;
  for (int i = 0; i < chunks; ++i) {
    json += i == 0 ? "" : ",";
    json += R"({"rows":1,"columns":{"c0":{"offset":0,"size":1}}})";
    data += Chunk("x");
  }
  json += R"(],"columns":[)";
  for (int i = 0; i < columns; ++i) {
    json += (i == 0 ? R"({"name":"c)" : R"(,{"name":"c)") + std::to_string(i) +
            R"(","dimension":1,"dtype":"uint8","compression":"none"})";
  }
  return New(json + "]}", 2) + data;
}

// index.json describes all columns.
TEST(Cvc, DescribingAColumnDoesNotLookAtEveryChunk) {
  constexpr int kColumns = 5000;
  const auto container = Open(Wide(kColumns, 100'000));
  const auto entries = (*container)->Entries();
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < kColumns; ++i) {
    ASSERT_TRUE(entries->Describe(i, LoneContext()));
  }
  // Half a minute if it did.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Cvc, DescribesWhereAColumnBegins) {
  const std::string bytes = Wide(2, 3);
  const auto container = Open(bytes);
  ASSERT_TRUE(container);
  const uint64_t header_end = bytes.size() - 3 * Chunk("x").size();
  EXPECT_EQ(DescribeEntry(**container, 0).offset, header_end + 8);
  EXPECT_EQ(DescribeEntry(**container, 1).offset, header_end);
}

TEST(Cvc, OpeningStopsWhenItIsInterrupted) {
  const auto source = std::make_shared<MemorySource>(Wide(1, 10'000));
  BlockCache cache(0);  // A check for so many prefixes, and for so many parts.
  for (const uint64_t checks : {0U, 5U, 15U}) {
    const InterruptAfter interrupt(checks);
    EXPECT_TRUE(Fails(OpenContainer(source, {}, ReadContext(cache, interrupt)),
                      Code::kInterrupted));
  }
}

}  // namespace
}  // namespace ctxfs::cvc
