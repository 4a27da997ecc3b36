// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/arrow_buffers.h"

#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "core/io/source.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

class ArrowBuffersTest : public testing::Test {
 protected:
  std::string Read(const Content& content) {
    const Result<std::string> text = ReadAll(content, cache_);
    EXPECT_TRUE(Ok(text));
    return text ? *text : "";
  }

  BlockCache cache_{limits::kMiB};
};

TEST_F(ArrowBuffersTest, BitsOfAnyWindow) {
  std::string bytes;
  std::string bits(25'001, '\0');  // more than one piece, and a part of a byte
  for (size_t i = 0; i < 200'003; ++i) {
    const bool set = i % 3 == 0 || i % 7 == 0;
    bytes += set ? '\2' : '\0';
    if (set) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
  }
  const Content packed = PackBits(TextContent(bytes));
  EXPECT_EQ(Read(packed), bits);
  EXPECT_EQ(Read(packed.Slice(8191, 9000)), bits.substr(8191, 9000));
  EXPECT_EQ(Read(packed.Slice(25'000, 1)), bits.substr(25'000, 1));
  EXPECT_EQ(PackBits(Content()).size(), 0U);
}

TEST_F(ArrowBuffersTest, CountsZeros) {
  std::string bytes(150'000, '\1');
  bytes[0] = bytes[70'000] = bytes.back() = '\0';
  EXPECT_EQ(*CountZeros(TextContent(bytes), cache_), 3U);
  EXPECT_EQ(*CountZeros(Content(), cache_), 0U);
}

TEST_F(ArrowBuffersTest, TextOfSeveralBlocks) {
  constexpr uint64_t kRows = 20'001;
  std::string lines;
  std::string data;
  std::string offsets(4, '\0');
  uint64_t nulls = 0;
  for (uint64_t i = 0; i < kRows; ++i) {
    if (i % 5 == 1) {
      lines += "null\n";
      ++nulls;
    } else {
      lines += "\"" + std::to_string(i) + "\\n\"\n";
      data += std::to_string(i) + "\n";
    }
    for (unsigned k = 0; k < 4; ++k) {
      offsets += static_cast<char>(data.size() >> (8 * k) & 0xFF);
    }
  }
  Table table;
  table.rows = kRows;
  table.columns.resize(1);
  table.columns[0].kind = CellKind::kText;
  table.columns[0].open = [lines](const ReadContext&) -> Result<Content> {
    return TextContent(lines);
  };
  const auto reader =
      TableReader::Open(std::make_shared<const FakeContainer>(
                            std::vector<std::optional<std::string>>{}),
                        std::move(table), cache_);
  ASSERT_TRUE(Ok(reader));
  const Result<TextBuffers> text = MakeTextBuffers(*reader, 0, cache_);
  ASSERT_TRUE(Ok(text));
  EXPECT_FALSE(text->wide);
  EXPECT_EQ(text->nulls, nulls);
  EXPECT_EQ(Read(text->data), data);
  EXPECT_EQ(Read(text->offsets), offsets);
  const std::string valid = Read(text->valid);
  ASSERT_EQ(valid.size(), (kRows + 7) / 8);
  for (uint64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(valid[i / 8] >> (i % 8) & 1, i % 5 == 1 ? 0 : 1) << i;
  }
}

}  // namespace
}  // namespace ctxfs
