// SPDX-License-Identifier: Apache-2.0
#include "core/tree/numbered.h"

#include <gtest/gtest.h>

#include "core/tree/branch.h"
#include "tests/unit/testing/fake_container.h"

namespace ctxfs {
namespace {

NumberedFiles Files(uint32_t count, unsigned digits, std::string suffix) {
  NumberedFiles files;
  files.path = "d";
  files.count = count;
  files.digits = digits;
  files.suffix = std::move(suffix);
  files.open = [](uint32_t file, BlockCache& /*cache*/) -> Result<Content> {
    return TextContent(std::string(file, 'x'));
  };
  return files;
}

TEST(NumberedDirectory, NamesAreFoundByTheirNumber) {
  const NumberedFiles files = Files(2'000'000, 6, ".png");
  const NumberedDirectory directory(files);
  EXPECT_EQ(directory.Name(0), "000000.png");
  EXPECT_EQ(directory.Name(42), "000042.png");
  EXPECT_EQ(directory.Name(1'999'999), "1999999.png");
  for (const uint32_t file : {0U, 9U, 10U, 999'999U, 1'000'000U, 1'999'999U}) {
    EXPECT_EQ(directory.Lookup(directory.Name(file)), file);
  }
}

TEST(NumberedDirectory, OneNameAFile) {
  const NumberedFiles files = Files(100, 3, ".b");
  const NumberedDirectory directory(files);
  for (const char* name :
       {"", ".b", "42.b", "0042.b", "042", "042.c", "100.b", "-01.b", "+42.b",
        " 42.b", "0x2.b", "04 .b", "4294967338.b", "99999999999999999999.b"}) {
    EXPECT_EQ(directory.Lookup(name), std::nullopt) << name;
  }
  EXPECT_EQ(directory.Lookup("042.b"), 42U);
}

TEST(NumberedDirectory, MeasuresWhatHasNoKnownSize) {
  NumberedFiles files = Files(10, 1, "");
  const NumberedDirectory directory(files);
  BlockCache cache(0);
  EXPECT_FALSE(directory.SizeIsCheap());
  EXPECT_EQ(*directory.Size(7, cache), 7U);
  EXPECT_FALSE(directory.Describe(7).has_value());
  files.size = [](uint32_t file) { return uint64_t{file} * 2; };
  files.describe = [](uint32_t file) {
    EntryInfo info;
    info.size = file;
    return info;
  };
  EXPECT_TRUE(directory.SizeIsCheap());
  EXPECT_EQ(*directory.Size(7, cache), 14U);
  EXPECT_EQ(directory.Describe(7)->size, 7U);
}

TEST(NumberedDirectory, NeverTakesAnEntrysName) {
  const auto fake = std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{"d/000001"});
  fake->numbered = {Files(3, 6, "")};
  const Branch branch(fake);
  const auto node = branch.tree().Lookup(Tree::kRoot, "d~2");
  ASSERT_TRUE(node.has_value());
  EXPECT_NE(branch.Numbered(*node), nullptr);
  EXPECT_EQ(branch.Numbered(*branch.tree().Lookup(Tree::kRoot, "d")), nullptr);
}

TEST(Branch, PutsFilesAmongEntriesThatTheFormatNamed) {
  const auto fake = std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{"LOD0/tokens"});
  fake->names_entries_itself = true;
  fake->own_files = {TextFile("LOD0/header.json", "{}")};
  fake->numbered = {Files(3, 6, "")};
  fake->numbered[0].path = "LOD0/blocks";
  const Branch branch(fake);
  const auto level = branch.tree().Lookup(Tree::kRoot, "LOD0");
  ASSERT_TRUE(level.has_value());
  for (const char* name : {"tokens", "header.json", "blocks"}) {
    EXPECT_TRUE(branch.tree().Lookup(*level, name).has_value()) << name;
  }
}

}  // namespace
}  // namespace ctxfs
