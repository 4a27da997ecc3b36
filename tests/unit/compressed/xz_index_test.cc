// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/xz_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/compressed/decoded_index.h"
#include "core/compressed/decoder.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using IndexResult = Result<std::shared_ptr<const DecodedIndex>>;

/// An .xz stream with a block for each of `texts`.
std::string Stream(const std::vector<std::string>& texts) {
  lzma_stream stream = LZMA_STREAM_INIT;
  lzma_options_lzma options;
  EXPECT_EQ(lzma_lzma_preset(&options, 0), 0);
  const lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options},
                                 {LZMA_VLI_UNKNOWN, nullptr}};
  EXPECT_EQ(lzma_stream_encoder(&stream, filters, LZMA_CHECK_CRC32), LZMA_OK);
  std::string packed(256 + 256 * texts.size(), '\0');
  stream.next_out = reinterpret_cast<uint8_t*>(packed.data());
  stream.avail_out = packed.size();
  for (const std::string& text : texts) {
    stream.next_in = reinterpret_cast<const uint8_t*>(text.data());
    stream.avail_in = text.size();
    EXPECT_EQ(lzma_code(&stream, LZMA_FULL_FLUSH), LZMA_STREAM_END);
  }
  EXPECT_EQ(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
  packed.resize(stream.total_out);
  lzma_end(&stream);
  return packed;
}

std::string Repeat(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

IndexResult Index(const SourcePtr& source, const Request& request = Request()) {
  return IndexCompressed(source, Compression::kXz, kUsualDecoderMemory,
                         request);
}

TEST(XzIndex, Item41_13_ManyStreamsAreReadOnce) {
  const std::string bytes =
      Stream({"first"}) + Repeat(Stream({}), 40'000) + Stream({"last"});
  const auto source = std::make_shared<FaultySource>(bytes);
  const IndexResult index = Index(source);
  ASSERT_TRUE(Ok(index));
  EXPECT_EQ((*index)->size, 9U);
  EXPECT_LT(source->bytes_read(), 3 * bytes.size());
}

TEST(XzIndex, Item41_13_StreamsHaveALimit) {
  const std::string empty = Stream({});
  const auto many = [&](size_t count) {
    return std::make_shared<MemorySource>(Stream({"text"}) +
                                          Repeat(empty, count - 1));
  };
  EXPECT_TRUE(Ok(Index(many(100'000))));
  EXPECT_TRUE(Fails(Index(many(100'001)), Code::kLimit));
}

TEST(XzIndex, Item41_13_AnyStreamCanBeInterrupted) {
  const auto source =
      std::make_shared<MemorySource>(Repeat(Stream({}), 10'000));
  const InterruptAfter soon(5'000);
  EXPECT_TRUE(Fails(ReadXzIndex(*source, Request(soon)), Code::kInterrupted));
}

TEST(XzIndex, Item41_13_SmallBlocksAreReadOnce) {
  const std::string bytes = Stream(std::vector<std::string>(5'000, "x"));
  const auto source = std::make_shared<FaultySource>(bytes);
  const IndexResult index = Index(source);
  ASSERT_TRUE(Ok(index));
  EXPECT_EQ((*index)->size, 5'000U);
  EXPECT_LT(source->bytes_read(), 5 * bytes.size());
}

TEST(XzIndex, Item41_13_PaddingIsPassedOver) {
  const std::string stream = Stream({"text"});
  const auto open = [](std::string bytes) {
    return Index(std::make_shared<MemorySource>(std::move(bytes)));
  };
  const IndexResult index =
      open(stream + std::string(100'000, '\0') + stream + std::string(4, '\0'));
  ASSERT_TRUE(Ok(index));
  EXPECT_EQ((*index)->size, 8U);
  EXPECT_TRUE(Fails(open(stream + std::string(3, '\0')), Code::kCorrupt));
  EXPECT_TRUE(Fails(open(std::string(8, '\0') + stream), Code::kCorrupt));
  EXPECT_TRUE(Fails(open(std::string(64, '\0')), Code::kCorrupt));
  EXPECT_TRUE(Fails(open(""), Code::kCorrupt));
}

TEST(XzIndex, Item41_13_AnyFlippedBitOfTheFrameIsFound) {
  const std::string stream = Stream({"text", "more"});
  for (size_t bit = 0; bit < 8 * stream.size(); ++bit) {
    std::string damaged = stream;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(Index(std::make_shared<MemorySource>(damaged))) << bit;
  }
  for (size_t size = 0; size < stream.size(); ++size) {
    EXPECT_FALSE(Index(std::make_shared<MemorySource>(stream.substr(0, size))));
  }
}

}  // namespace
}  // namespace ctxfs
