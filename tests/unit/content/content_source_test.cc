// SPDX-License-Identifier: Apache-2.0
#include "core/content/content_source.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

class ContentSourceTest : public testing::Test {
 protected:
  /// A source over a block of these bytes, stored in `stored`.
  ContentSource Over(const std::string& bytes) {
    Content content;
    content.Append(Decoded{std::make_shared<const TestBlock>(
                               Key{9, 9}, bytes.size(),
                               [this, bytes]() -> Result<Buffer> {
                                 ++decoded;
                                 return BufferOf(bytes);
                               }),
                           0},
                   bytes.size());
    return {stored, std::move(content), cache};
  }

  static std::string Read(const Source& source, uint64_t offset, size_t size) {
    Buffer out(size);
    EXPECT_TRUE(Ok(source.ReadAt(offset, out.span(), Request())));
    return std::string(AsText(out.span()));
  }

  std::shared_ptr<FaultySource> stored =
      std::make_shared<FaultySource>("stored");
  BlockCache cache{100};
  int decoded = 0;
};

TEST_F(ContentSourceTest, ReadsWindowsOfOneDecodedBlock) {
  const ContentSource source = Over("0123456789");
  EXPECT_EQ(source.size(), 10U);
  EXPECT_EQ(source.stored_size(), 6U);
  EXPECT_EQ(decoded, 0) << "not before it is read";
  EXPECT_EQ(Read(source, 0, 10), "0123456789");
  EXPECT_EQ(Read(source, 7, 3), "789");
  EXPECT_EQ(Read(source, 10, 0), "");
  EXPECT_EQ(decoded, 1);
  Buffer out(2);
  EXPECT_TRUE(Fails(source.ReadAt(9, out.span(), Request()), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(source.ReadAt(UINT64_MAX, out.span(), Request()), Code::kCorrupt));
}

TEST_F(ContentSourceTest, KeepsNoBytesOfItsOwn) {
  const ContentSource source = Over(std::string(80, 'x'));
  EXPECT_EQ(Read(source, 0, 1), "x");
  EXPECT_EQ(cache.stats().bytes, 80U) << "they count against the budget";
  const TestBlock other({9, 1}, 80, [] {
    return Result<Buffer>(BufferOf(std::string(80, 'o')));
  });
  ASSERT_TRUE(Ok(cache.Get(other, cache)));
  EXPECT_EQ(cache.stats().bytes, 80U) << "and make room for others";
  EXPECT_EQ(Read(source, 79, 1), "x");
  EXPECT_EQ(decoded, 2);
}

TEST_F(ContentSourceTest, IsStaleWhenItsStoreIs) {
  const ContentSource source = Over("0123456789");
  EXPECT_EQ(Read(source, 0, 2), "01");
  stored->GoStaleAfter(0);
  Buffer out(2);
  EXPECT_TRUE(Fails(source.ReadAt(0, out.span(), Request()), Code::kStale));
  EXPECT_TRUE(Fails(source.CheckUnchanged(), Code::kStale));
}

}  // namespace
}  // namespace ctxfs
