// SPDX-License-Identifier: Apache-2.0
#include "core/content/strided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "core/base/limits.h"
#include "tests/unit/testing/blocks.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

std::string Numbered(size_t size) {
  std::string bytes(size, '\0');
  std::mt19937 random(1);
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

/// What the layout says, one element after another.
std::string Expected(const std::string& stored, const StridedLayout& layout) {
  uint64_t count = 1;
  for (const uint64_t extent : layout.shape) count *= extent;
  std::string result;
  for (uint64_t n = 0; n < count; ++n) {
    uint64_t rest = n;
    uint64_t at = layout.offset;
    for (size_t i = layout.shape.size(); i-- > 0;) {
      at += rest % layout.shape[i] * layout.strides[i];
      rest /= layout.shape[i];
    }
    std::string element = stored.substr(at * layout.width, layout.width);
    for (size_t i = 0; layout.swap > 1 && i < layout.width; i += layout.swap) {
      std::reverse(
          element.begin() + static_cast<std::ptrdiff_t>(i),
          element.begin() + static_cast<std::ptrdiff_t>(i + layout.swap));
    }
    const auto flip = [&](size_t byte) {
      element[byte] = static_cast<char>(element[byte] ^ 0x80);
    };
    if (layout.flip_first) flip(layout.float_width - 1);
    if (layout.flip_second) flip(2 * layout.float_width - 1);
    result += element;
  }
  return result;
}

class Strided : public testing::Test {
 protected:
  /// Compares all of the content and windows of it, for stored bytes in a file
  /// and for decoded ones.
  void Check(const std::string& stored, const StridedLayout& layout) {
    const std::string expected = Expected(stored, layout);
    const auto source = std::make_shared<const MemorySource>(stored);
    const auto block = std::make_shared<const TestBlock>(
        Key{NewOwner(), 0}, stored.size(),
        [stored]() -> Result<Buffer> { return BufferOf(stored); });
    for (const Content& bytes :
         {Content(Range{source, 0, nullptr}, stored.size()),
          Content(Decoded{block, 0}, stored.size())}) {
      const Content made = StridedContent({NewOwner(), 0}, bytes, layout);
      ASSERT_EQ(made.size(), expected.size());
      const Result<std::string> whole = ReadAll(made, cache_);
      ASSERT_TRUE(Ok(whole));
      ASSERT_TRUE(*whole == expected);
      std::mt19937 random(2);
      for (int i = 0; i < 100 && !expected.empty(); ++i) {
        const size_t at = random() % expected.size();
        const size_t size = random() % (expected.size() - at) + 1;
        std::string part(size, '\0');
        ASSERT_TRUE(Ok(ReadInto(
            made, at, {reinterpret_cast<std::byte*>(part.data()), size},
            cache_)));
        ASSERT_TRUE(part == expected.substr(at, size)) << at << "+" << size;
      }
    }
  }

  BlockCache cache_{64 * limits::kMiB};
};

TEST_F(Strided, RowsAndColumns) {
  const std::vector<uint64_t> shape = {5, 7, 3};
  const std::string stored = Numbered(5 * 7 * 3 * 4);
  Check(stored,
        {.width = 4, .shape = shape, .strides = RowMajorStrides(shape)});
  Check(stored,
        {.width = 4, .shape = shape, .strides = ColumnMajorStrides(shape)});
  EXPECT_EQ(RowMajorStrides(shape), (std::vector<uint64_t>{21, 3, 1}));
  EXPECT_EQ(ColumnMajorStrides(shape), (std::vector<uint64_t>{1, 5, 35}));
}

TEST_F(Strided, ViewsOfAStorage) {
  const std::string stored = Numbered(1200);
  // A slice with steps, a diagonal, an expanded row, overlapping windows.
  Check(stored, {.width = 4, .shape = {4, 5}, .strides = {40, 2}, .offset = 7});
  Check(stored, {.width = 2, .shape = {20}, .strides = {21}, .offset = 3});
  Check(stored, {.width = 8, .shape = {9, 6}, .strides = {0, 1}, .offset = 1});
  Check(stored, {.width = 1, .shape = {30, 10}, .strides = {1, 1}});
  Check(stored, {.width = 4, .shape = {}, .strides = {}, .offset = 9});
  Check(stored, {.width = 4, .shape = {3, 0}, .strides = {1, 1}});
  Check(stored, {.width = 16, .shape = {1, 5}, .strides = {99, 10}});
}

TEST_F(Strided, BytesOfElements) {
  const std::string stored = Numbered(480);
  const std::vector<uint64_t> shape = {10, 3};
  StridedLayout layout{.width = 16,
                       .shape = shape,
                       .strides = RowMajorStrides(shape),
                       .swap = 8};
  Check(stored, layout);
  layout.float_width = 8;
  layout.flip_second = true;
  Check(stored, layout);
  layout.flip_first = true;
  layout.swap = 1;
  layout.strides = ColumnMajorStrides(shape);
  Check(stored, layout);
}

TEST_F(Strided, BytesInOrderAreNotComputed) {
  const auto source = std::make_shared<const MemorySource>(Numbered(100));
  const Content stored(Range{source, 0, nullptr}, 100);
  // Dimensions of 1 may have any stride.
  const Content part = StridedContent(
      {NewOwner(), 0}, stored,
      {.width = 4, .shape = {2, 1, 5}, .strides = {5, 77, 1}, .offset = 3});
  EXPECT_EQ(part.size(), 40U);
  EXPECT_FALSE(part.WorkExceeds(0));
}

TEST_F(Strided, MoreBytesThanAllPieces) {
  // 70 MiB: more than 16 pieces of 4 MiB. Few elements a row, some that
  // are far apart, and many.
  const std::string stored = Numbered(70 * limits::kMiB);
  const uint64_t count = stored.size() / 2;
  const auto source = std::make_shared<const MemorySource>(stored);
  const Content bytes(Range{source, 0, nullptr}, stored.size());
  for (const uint64_t columns : {uint64_t{4}, uint64_t{64}, count / 64}) {
    const StridedLayout layout{.width = 2,
                               .shape = {count / columns, columns},
                               .strides = {1, count / columns}};
    const Content made = StridedContent({NewOwner(), 0}, bytes, layout);
    std::mt19937_64 random(3);
    for (int i = 0; i < 50; ++i) {
      const uint64_t at = random() % (count - 10);
      std::string part(20, '\0');
      ASSERT_TRUE(Ok(ReadInto(made, 2 * at,
                              {reinterpret_cast<std::byte*>(part.data()), 20},
                              cache_)));
      for (uint64_t n = 0; n < 10; ++n) {
        const uint64_t from =
            (at + n) / columns + (at + n) % columns * (count / columns);
        ASSERT_EQ(part.substr(2 * n, 2), stored.substr(2 * from, 2));
      }
    }
  }
}

}  // namespace
}  // namespace ctxfs
