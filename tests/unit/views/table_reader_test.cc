// SPDX-License-Identifier: Apache-2.0
#include "core/views/tables/table_reader.h"

#include <gtest/gtest.h>

#include "core/base/limits.h"
#include "core/io/source.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

TableColumn Lines(std::string text) {
  TableColumn column;
  column.name = "text";
  column.kind = CellKind::kText;
  column.open = [text](const ReadContext&) -> Result<Content> {
    return TextContent(text);
  };
  return column;
}

TableColumn Bytes8(std::string values, std::string valid = "") {
  TableColumn column;
  column.name = "bytes";
  column.open = [values](const ReadContext&) -> Result<Content> {
    return TextContent(values);
  };
  if (!valid.empty()) {
    column.open_valid = [valid](const ReadContext&) -> Result<Content> {
      return TextContent(valid);
    };
  }
  return column;
}

class TableReaderTest : public testing::Test {
 protected:
  auto Open(uint64_t rows, TableColumn column) {
    Table table;
    table.rows = rows;
    table.columns.push_back(std::move(column));
    return TableReader::Open(std::make_shared<const FakeContainer>(
                                 std::vector<std::optional<std::string>>{}),
                             std::move(table), cache_);
  }

  BlockCache cache_{limits::kMiB};
};

TEST_F(TableReaderTest, LinesGoOnWhereTheyEnded) {
  // Longer than what is read at once, so that a line lies across its end.
  const std::string longest(100'000, 'x');
  const auto reader = Open(4, Lines("a\n" + longest + "\n\nlast\n"));
  ASSERT_TRUE(Ok(reader));
  uint64_t line = 0;
  const Result<Cells> first = (*reader)->Read(0, 0, 2, line, cache_);
  ASSERT_TRUE(Ok(first));
  EXPECT_EQ(first->lines, (std::vector<std::string>{"a", longest}));
  EXPECT_EQ(line, longest.size() + 3);
  const Result<Cells> second = (*reader)->Read(0, 2, 2, line, cache_);
  ASSERT_TRUE(Ok(second));
  EXPECT_EQ(second->lines, (std::vector<std::string>{"", "last"}));
}

TEST_F(TableReaderTest, TooFewLinesAreAnError) {
  const auto reader = Open(3, Lines("a\nb\nno end"));
  ASSERT_TRUE(Ok(reader));
  uint64_t line = 0;
  EXPECT_TRUE(Fails((*reader)->Read(0, 0, 3, line, cache_), Code::kCorrupt));
}

TEST_F(TableReaderTest, AColumnIsAsLongAsTheTable) {
  EXPECT_TRUE(Ok(Open(3, Bytes8("abc"))));
  EXPECT_TRUE(Fails(Open(3, Bytes8("ab")), Code::kCorrupt));
  EXPECT_TRUE(Fails(Open(3, Bytes8("abc", "\1\1")), Code::kCorrupt));
}

TEST_F(TableReaderTest, Validity) {
  const auto reader = Open(3, Bytes8("abc", std::string("\1\0\1", 3)));
  ASSERT_TRUE(Ok(reader));
  uint64_t line = 0;
  const Result<Cells> cells = (*reader)->Read(0, 1, 2, line, cache_);
  ASSERT_TRUE(Ok(cells));
  EXPECT_FALSE(cells->IsValid(0));
  EXPECT_TRUE(cells->IsValid(1));
  EXPECT_EQ(*cells->at(1), std::byte{'c'});
}

}  // namespace
}  // namespace ctxfs
