// SPDX-License-Identifier: Apache-2.0
#include "core/views/arrays/vecs.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

TEST(VecsTest, PutsTheDimensionBeforeEachRow) {
  BlockCache cache(0);
  const Content content = VecsContent(TextContent("aaaabbbbccccdddd"), 2, 4);
  const std::string row = "\x02\0\0\0"s;
  EXPECT_EQ(*ReadAll(content, cache), row + "aaaabbbb" + row + "ccccdddd");
}

TEST(VecsTest, AnyWindowIsThatOfTheWhole) {
  BlockCache cache(0);
  std::string elements;
  for (int i = 0; i < 60; ++i) elements += static_cast<char>('A' + i % 26);
  const Content content = VecsContent(TextContent(elements), 5, 1);
  const std::string all = *ReadAll(content, cache);
  ASSERT_EQ(all.size(), 12 * 9U);
  for (size_t from = 0; from <= all.size(); ++from) {
    for (size_t length = 0; length <= all.size() - from; ++length) {
      Buffer buffer(length);
      ASSERT_TRUE(ReadInto(content, from, buffer.span(), cache));
      ASSERT_EQ(AsText(buffer.span()), all.substr(from, length));
    }
  }
}

TEST(VecsTest, NoRowsAreNoBytes) {
  EXPECT_EQ(VecsContent(TextContent(""), 3, 4).size(), 0U);
}

}  // namespace
}  // namespace ctxfs
