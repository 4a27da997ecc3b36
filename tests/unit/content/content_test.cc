// SPDX-License-Identifier: Apache-2.0
#include "core/content/content.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Access = FaultySource::Access;

std::shared_ptr<const std::string> Text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

std::shared_ptr<const ChecksumGuard> GuardOf(
    std::shared_ptr<const Source> source, uint64_t offset,
    const std::string& bytes, uint32_t crc_error = 0) {
  static std::atomic<uint64_t> index = 0;
  return std::make_shared<const ChecksumGuard>(
      Key{77, index++},
      ChecksumGuard::Guarded{
          std::move(source), offset, bytes.size(),
          Checksum{ChecksumKind::kCrc32c, Crc32c(AsBytes(bytes)) ^ crc_error}},
      std::make_shared<AtomicVerdict>(Verdict::kUnknown));
}

std::shared_ptr<const Block> BlockOf(uint64_t index, std::string bytes) {
  return std::make_shared<const TestBlock>(
      Key{78, index}, bytes.size(),
      [bytes]() -> Result<Buffer> { return BufferOf(bytes); });
}

/// Byte i is the letter i of the alphabet, again and again.
class Alphabet final : public Transform {
 public:
  Status Compute(uint64_t offset, MutableBytes out,
                 const ReadContext& /*context*/) const override {
    for (std::byte& b : out) {
      b = static_cast<std::byte>('a' + offset++ % 26);
    }
    return {};
  }
  Status Verify(const ReadContext& /*context*/) const override {
    if (damaged) return Error{Code::kChecksum, "damaged", 5};
    return {};
  }

  bool damaged = false;
};

std::string Joined(const Window& window) {
  std::string all;
  for (const Bytes slice : window.slices()) all += AsText(slice);
  return all;
}

class Mixed : public ::testing::Test {
 protected:
  Mixed() {
    content.Append(Literal{Text("")}, 0);
    content.Append(Literal{Text("LITERAL")}, 7);
    content.Append(Range{source, 3, GuardOf(source, 3, "3456789")}, 7);
    content.Append(Range{source, 9, GuardOf(source, 9, "")}, 0);
    content.Append(Decoded{BlockOf(0, "__block__"), 2}, 5);
    content.Append(Decoded{BlockOf(1, ""), 0}, 0);
    content.Append(Computed{std::make_shared<Alphabet>(), 24}, 6);
    content.Append(Range{source, 10, nullptr}, 1);
    content.Append(Literal{Text("Z")}, 1);
    content.Append(Decoded{BlockOf(0, "__block__"), 8}, 1);
    content.Append(Range{source, 0, nullptr}, 0);
  }

  const std::string all = "LITERAL3456789blockyzabcd:Z_";
  std::shared_ptr<FaultySource> source =
      std::make_shared<FaultySource>("0123456789:");
  Content content;
  BlockCache cache{1 << 20};
  Window window;
};

TEST_F(Mixed, GivesEveryWindowWhole) {
  ASSERT_EQ(content.size(), all.size());
  for (size_t offset = 0; offset <= all.size() + 2; ++offset) {
    for (size_t length = 0; length <= all.size() + 2; ++length) {
      ASSERT_TRUE(Ok(content.Read(offset, length, cache, window)));
      const std::string expected =
          offset < all.size() ? all.substr(offset, length) : "";
      ASSERT_EQ(Joined(window), expected) << offset << " " << length;
    }
  }
}

TEST_F(Mixed, TakesOffsetsAndLengthsNearTheTopOfTheRange) {
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 3, uint64_t{28}}) {
    EXPECT_TRUE(Ok(content.Read(offset, SIZE_MAX, cache, window)));
    EXPECT_TRUE(window.slices().empty());
  }
  EXPECT_TRUE(Ok(content.Read(26, SIZE_MAX, cache, window)));
  EXPECT_EQ(Joined(window), "Z_");
}

TEST_F(Mixed, IsReadWholeByReadAll) {
  EXPECT_EQ(*ReadAll(content, cache), all);
}

TEST_F(Mixed, ServesManyThreadsAtOnce) {
  std::atomic<int> wrong = 0;
  InThreads(8, [&](int thread) {
    Window own;
    for (size_t i = 0; i < 300; ++i) {
      const size_t offset = (i * 7 + static_cast<size_t>(thread)) % 30;
      const Status read = content.Read(offset, i % 30, cache, own);
      const std::string expected =
          offset < all.size() ? all.substr(offset, i % 30) : "";
      if (!read || Joined(own) != expected) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(Mixed, LeavesNothingInTheWindowAfterAnError) {
  ASSERT_TRUE(Ok(content.Read(0, 5, cache, window)));
  ASSERT_FALSE(window.slices().empty());
  source->FailNext();
  EXPECT_TRUE(Fails(content.Read(0, 20, cache, window), Code::kIo));
  EXPECT_TRUE(window.slices().empty());
  EXPECT_TRUE(Ok(content.Read(0, 100, cache, window)));
  EXPECT_EQ(Joined(window), all);
}

TEST_F(Mixed, AsksTheStoreForNothingButTheWindow) {
  ASSERT_TRUE(Ok(content.Read(0, 7, cache, window)));
  ASSERT_TRUE(Ok(content.Read(14, 11, cache, window)));
  EXPECT_EQ(Joined(window), "blockyzabcd");
  EXPECT_EQ(source->calls(), 0U) << "literal, block and transform need none";
  ASSERT_TRUE(Ok(content.Read(25, 1, cache, window)));
  EXPECT_EQ(source->accesses(), (std::vector<Access>{{10, 1}}));
}

TEST(Content, ReadsFourKibibytesOfAMebibyte) {
  const auto source = std::make_shared<FaultySource>(Noise(3 << 20));
  Content content;
  content.Append(Range{source, 1000, nullptr}, 1 << 20);
  content.Append(Range{source, 2 << 20, nullptr}, 1 << 20);
  EXPECT_EQ(source->calls(), 0U);
  BlockCache cache(1 << 20);
  Window window;
  ASSERT_TRUE(Ok(content.Read(500'000, 4096, cache, window)));
  EXPECT_EQ(source->accesses(), (std::vector<Access>{{501'000, 4096}}));
  source->ForgetAccesses();
  ASSERT_TRUE(Ok(content.Read((1 << 20) - 1000, 4096, cache, window)));
  EXPECT_EQ(source->accesses(),
            (std::vector<Access>{{1 << 20, 1000}, {2 << 20, 3096}}));
}

TEST(Content, OfNothingIsEmpty) {
  const Content content;
  BlockCache cache(0);
  Window window;
  EXPECT_EQ(content.size(), 0U);
  EXPECT_TRUE(Ok(content.Read(0, 10, cache, window)));
  EXPECT_TRUE(window.slices().empty());
  EXPECT_TRUE(Ok(content.Verify(cache)));
  EXPECT_EQ(*ReadAll(content, cache), "");
}

TEST(Content, DoesNotCopyLiteralsAndBlocks) {
  const auto text = Text("hello");
  const auto block = BlockOf(10, "world");
  Content content;
  content.Append(Literal{text}, 5);
  content.Append(Decoded{block, 0}, 5);
  BlockCache cache(1 << 20);
  Window window;
  ASSERT_TRUE(Ok(content.Read(1, 9, cache, window)));
  ASSERT_EQ(window.slices().size(), 2U);
  EXPECT_EQ(AsText(window.slices()[0]).data(), text->data() + 1);
  EXPECT_EQ(window.slices()[1].data(), (*cache.Get(*block, cache))->data());
  // The window alone keeps them alive.
  content = Content();
  cache.Drop();
  EXPECT_EQ(Joined(window), "elloworld");
}

TEST(Content, FailsWhereABlockIsShorterThanItsFile) {
  Content content;
  content.Append(Decoded{BlockOf(11, "short"), 3}, 4);
  BlockCache cache(1 << 20);
  Window window;
  EXPECT_TRUE(Ok(content.Read(0, 2, cache, window)));
  EXPECT_TRUE(Fails(content.Read(0, 3, cache, window), Code::kCorrupt));
  EXPECT_TRUE(window.slices().empty());
}

TEST(Content, ServesNoKeptBytesOfAStoreThatChanged) {
  class Stale final : public Block {
   public:
    Stale() : Block({78, 12}) {}
    uint64_t cost() const override { return 1; }
    Result<Buffer> Produce(const ReadContext& /*context*/) const override {
      return BufferOf("x");
    }
    const Source* made_from() const override { return &store; }
    FaultySource store{""};
  };
  const auto block = std::make_shared<Stale>();
  Content content;
  content.Append(Decoded{block, 0}, 1);
  BlockCache cache(1 << 20);
  Window window;
  EXPECT_TRUE(Ok(content.Read(0, 1, cache, window)));
  block->store.GoStaleAfter(0);
  EXPECT_TRUE(Fails(content.Read(0, 1, cache, window), Code::kStale));
  EXPECT_TRUE(window.slices().empty());
}

TEST(Content, KnowsWhetherReadingItReadsItsSource) {
  class OfSource final : public Block {
   public:
    explicit OfSource(const Source& source)
        : Block({78, 14}), source_(source) {}
    uint64_t cost() const override { return 1; }
    Result<Buffer> Produce(const ReadContext& /*context*/) const override {
      return BufferOf("decoded");
    }
    const Source* made_from() const override { return &source_; }

   private:
    const Source& source_;
  };
  const auto source = std::make_shared<FaultySource>("0123456789");
  const auto other = std::make_shared<FaultySource>("0123456789");
  Content content;
  content.Append(Literal{Text("text")}, 4);
  content.Append(Range{source, 0, nullptr}, 4);
  content.Append(Decoded{std::make_shared<OfSource>(*source), 0}, 4);
  content.Append(Range{other, 0, nullptr}, 4);
  content.Append(Decoded{BlockOf(15, "block"), 0}, 4);
  content.Append(Computed{std::make_shared<Alphabet>()}, 4);
  const auto asks = [&](uint64_t offset, size_t length) {
    return content.ReadsOnly(*source, offset, length);
  };
  EXPECT_TRUE(asks(4, 8));
  EXPECT_TRUE(asks(7, 1));
  EXPECT_FALSE(asks(3, 2)) << "a literal";
  EXPECT_FALSE(asks(11, 2)) << "another source";
  EXPECT_FALSE(asks(16, 1)) << "a block of no one source";
  EXPECT_FALSE(asks(20, 1)) << "computed";
  EXPECT_FALSE(asks(24, 1)) << "nothing is read";
  EXPECT_FALSE(asks(9, 0));
  EXPECT_FALSE(asks(0, SIZE_MAX));
}

TEST(ContentVerify, AsksEveryKindOfExtent) {
  const auto source = std::make_shared<FaultySource>("0123456789");
  BlockCache cache(1 << 20);
  const auto verify = [&](Extent extent, uint64_t length) {
    Content content;
    content.Append(Literal{Text("x")}, 1);
    content.Append(std::move(extent), length);
    return content.Verify(cache);
  };
  const auto failing =
      std::make_shared<const TestBlock>(Key{78, 13}, 1, []() -> Result<Buffer> {
        return Error{Code::kCorrupt, "bad", 9};
      });
  const auto damaged = std::make_shared<Alphabet>();
  damaged->damaged = true;

  EXPECT_TRUE(Ok(verify(Range{source, 2, nullptr}, 5)));
  EXPECT_EQ(source->calls(), 0U) << "nothing to verify with";
  EXPECT_TRUE(Ok(verify(Range{source, 2, GuardOf(source, 2, "234")}, 3)));
  EXPECT_EQ(source->accesses(), (std::vector<Access>{{2, 3}}));
  EXPECT_TRUE(Fails(verify(Range{source, 2, GuardOf(source, 2, "234", 1)}, 3),
                    Code::kChecksum, 2));
  EXPECT_TRUE(Ok(verify(Decoded{BlockOf(14, "b"), 0}, 1)));
  EXPECT_TRUE(Fails(verify(Decoded{failing, 0}, 1), Code::kCorrupt, 9));
  EXPECT_TRUE(Ok(verify(Computed{std::make_shared<Alphabet>(), 0}, 1)));
  EXPECT_TRUE(Fails(verify(Computed{damaged, 0}, 1), Code::kChecksum, 5));
}

TEST(ContentVerify, AsksForEmptyExtentsToo) {
  const auto source = std::make_shared<FaultySource>("0123456789");
  BlockCache cache(1 << 20);
  Content content;
  content.Append(Range{source, 4, GuardOf(source, 4, "", 1)}, 0);
  EXPECT_EQ(content.size(), 0U);
  EXPECT_TRUE(Fails(content.Verify(cache), Code::kChecksum, 4));
  EXPECT_TRUE(Fails(ReadAll(content, cache), Code::kChecksum, 4));
}

TEST(ReadAll, GivesTheErrorAndNoPart) {
  const auto source = std::make_shared<FaultySource>(Noise(3 << 20));
  Content content;
  content.Append(Range{source, 0, nullptr}, 3 << 20);
  BlockCache cache(1 << 20);
  source->FailAfter(2);
  EXPECT_TRUE(Fails(ReadAll(content, cache), Code::kIo));
  EXPECT_TRUE(*ReadAll(content, cache) == Noise(3 << 20));
}

}  // namespace
}  // namespace ctxfs
