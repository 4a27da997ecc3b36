// SPDX-License-Identifier: Apache-2.0
#include "core/content/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using Shape = std::vector<uint64_t>;

uint64_t CountOf(const Shape& sizes) {
  uint64_t count = 1;
  for (const uint64_t size : sizes) count *= size;
  return count;
}

/// Cuts an array into boxes, each of them again at a place by chance.
std::vector<std::pair<Shape, Shape>> Cut(const Shape& shape, size_t pieces,
                                         std::mt19937& random) {
  std::vector<std::pair<Shape, Shape>> boxes = {{Shape(shape.size()), shape}};
  for (size_t tries = 0; boxes.size() < pieces && tries < 10 * pieces;
       ++tries) {
    auto& [offsets, sizes] = boxes[random() % boxes.size()];
    const size_t by = random() % shape.size();
    if (sizes[by] < 2) continue;
    const uint64_t first = 1 + random() % (sizes[by] - 1);
    std::pair<Shape, Shape> rest{offsets, sizes};
    rest.first[by] += first;
    rest.second[by] -= first;
    sizes[by] = first;
    boxes.push_back(std::move(rest));
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

/// The elements of an array that a box has.
std::string Taken(const std::string& array, const Shape& shape, uint32_t width,
                  const Shape& offsets, const Shape& sizes) {
  std::string taken;
  for (uint64_t n = 0; n < CountOf(sizes); ++n) {
    uint64_t rest = n;
    uint64_t at = 0;
    uint64_t stride = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      at += (offsets[i] + rest % sizes[i]) * stride;
      rest /= sizes[i];
      stride *= shape[i];
    }
    taken += array.substr(at * width, width);
  }
  return taken;
}

class BoxesTest : public testing::Test {
 protected:
  void Check(const Shape& shape, uint32_t width, size_t pieces) {
    std::string array(CountOf(shape) * width, '\0');
    for (char& c : array) c = static_cast<char>(random_());
    std::vector<Box> boxes;
    for (const auto& [offsets, sizes] : Cut(shape, pieces, random_)) {
      std::string bytes = Taken(array, shape, width, offsets, sizes);
      const uint64_t size = bytes.size();
      boxes.push_back(
          {offsets, sizes,
           Content(Range{std::make_shared<const MemorySource>(std::move(bytes)),
                         0, nullptr},
                   size)});
    }
    const Content made = BoxedContent(shape, width, std::move(boxes));
    ASSERT_EQ(made.size(), array.size());
    const Result<std::string> whole = ReadAll(made, cache_);
    ASSERT_TRUE(Ok(whole));
    ASSERT_TRUE(*whole == array);
    for (int i = 0; i < 20; ++i) {
      const size_t offset = random_() % array.size();
      std::string window(1 + random_() % (array.size() - offset), '\0');
      ASSERT_TRUE(Ok(ReadInto(
          made, offset, std::as_writable_bytes(std::span(window)), cache_)));
      ASSERT_TRUE(window == array.substr(offset, window.size()));
    }
  }

  std::mt19937 random_{5};
  BlockCache cache_{1 << 20};
};

TEST_F(BoxesTest, PutsAnyBoxesTogether) {
  Check({7}, 4, 3);
  Check({1, 1}, 8, 1);
  Check({10, 7}, 4, 4);
  Check({5, 6, 7}, 2, 12);
  Check({3, 4, 5, 6}, 16, 40);
  Check({4, 1, 9, 1, 5}, 1, 9);
}

TEST_F(BoxesTest, ComputesWhatWouldBeTooManyExtents) {
  // 6,000 runs, over several windows of what is computed.
  Check({3000, 40}, 8, 2);
  Check({50, 60, 90}, 4, 30);
}

TEST_F(BoxesTest, StoredRowsAreExtents) {
  const auto source =
      std::make_shared<const MemorySource>(std::string(48, 'x'));
  const auto part = [&source](uint64_t at) {
    return Content(Range{source, at, nullptr}, 24);
  };
  const Content rows = BoxedContent(
      {4, 3}, 4, {{{2, 0}, {2, 3}, part(0)}, {{0, 0}, {2, 3}, part(24)}});
  // Two extents of the one source: nothing is computed.
  EXPECT_TRUE(rows.ReadsOnly(*source, 0, 48));
  EXPECT_EQ(rows.ExtentEnd(0), 24);
}

class OverlapTest : public testing::Test {
 protected:
  /// The first two boxes that overlap as text; "none", or the error.
  std::string Find(const std::vector<uint64_t>& numbers, size_t rank,
                   uint64_t budget = 1'000'000) {
    const auto found = FindOverlap(numbers, rank, budget, NeverInterrupted());
    if (!found) return found.error().what;
    if (!*found) return "none";
    return std::to_string((*found)->first) + " " +
           std::to_string((*found)->second);
  }
};

TEST_F(OverlapTest, FindsTwoBoxesWithAnElementInCommon) {
  EXPECT_EQ(Find({}, 2), "none");
  EXPECT_EQ(Find({0, 2, 2, 2, 4, 2}, 1), "none");
  EXPECT_EQ(Find({0, 3, 2, 2, 4, 2}, 1), "0 1");
  // Side by side in one dimension only.
  EXPECT_EQ(Find({0, 0, 2, 2, 0, 2, 2, 2, 2, 0, 2, 4}, 2), "none");
  EXPECT_EQ(Find({0, 0, 2, 2, 2, 0, 2, 4, 1, 1, 1, 2}, 2), "0 2");
}

TEST_F(OverlapTest, BoxesWithoutElementsOverlapNothing) {
  EXPECT_EQ(Find({0, 5, 2, 0, 0, 5}, 1), "0 2");
  EXPECT_EQ(Find({0, 5, 2, 0, 3, 0}, 1), "none");
}

TEST_F(OverlapTest, CutBoxesDoNotOverlapAndMovedOnesDo) {
  std::mt19937 random(3);
  for (int i = 0; i < 50; ++i) {
    std::vector<uint64_t> numbers;
    for (const auto& [offsets, sizes] : Cut({8, 9, 10}, 30, random)) {
      numbers.insert(numbers.end(), offsets.begin(), offsets.end());
      numbers.insert(numbers.end(), sizes.begin(), sizes.end());
    }
    ASSERT_EQ(Find(numbers, 3), "none");
    const size_t box = random() % (numbers.size() / 6);
    const size_t axis = random() % 3;
    uint64_t& offset = numbers[6 * box + axis];
    if (offset == 0) continue;
    --offset;
    ASSERT_NE(Find(numbers, 3), "none");
  }
}

TEST_F(OverlapTest, WorkIsBounded) {
  // All boxes share a range of the only dimension but have different lengths.
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 100; ++i) {
    numbers.insert(numbers.end(), {i, 0, 200, 1 + i % 2});
    numbers[4 * i + 1] = 2 * i;
  }
  EXPECT_EQ(Find(numbers, 2), "none");
  EXPECT_EQ(Find(numbers, 2, 410), "its parts are too many to be compared");
  EXPECT_EQ(Find(numbers, 2, 10), "its parts are too many to be compared");
}

}  // namespace
}  // namespace ctxfs
