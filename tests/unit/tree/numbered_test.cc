// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/tree/container_tree.h"
#include "core/tree/numbered_directory.h"
#include "tests/unit/testing/fake_container.h"

namespace ctxfs {
namespace {

std::shared_ptr<const FileTable> Numbers(uint32_t count, unsigned digits,
                                         std::string suffix,
                                         std::string directory = "d",
                                         bool sized = false) {
  return FakeNumbers(
      std::move(directory), count, Numbering{digits, std::move(suffix)},
      [](uint32_t file) { return std::string(file, 'x'); }, sized);
}

TEST(NumberedDirectory, NamesAreFoundByTheirNumber) {
  const auto files = Numbers(2'000'000, 6, ".png");
  const NumberedDirectory directory(*files);
  EXPECT_EQ(directory.ChildCount(FileTree::kRoot), 2'000'000U);
  EXPECT_EQ(directory.ChildAt(FileTree::kRoot, 0).name, "000000.png");
  EXPECT_EQ(directory.ChildAt(FileTree::kRoot, 42).name, "000042.png");
  EXPECT_EQ(directory.ChildAt(FileTree::kRoot, 1'999'999).name, "1999999.png");
  for (const uint32_t file : {0U, 9U, 10U, 999'999U, 1'000'000U, 1'999'999U}) {
    const FileTree::Child child = directory.ChildAt(FileTree::kRoot, file);
    EXPECT_EQ(directory.Lookup(FileTree::kRoot, child.name), child.node);
    EXPECT_EQ(directory.Path(child.node), child.name);
    EXPECT_FALSE(child.directory() || directory.IsDirectory(child.node));
    EXPECT_EQ(directory.Parent(child.node), FileTree::kRoot);
  }
  EXPECT_TRUE(directory.IsDirectory(FileTree::kRoot));
}

TEST(NumberedDirectory, OneNameAFile) {
  const auto files = Numbers(100, 3, ".b");
  const NumberedDirectory directory(*files);
  for (const char* name :
       {"", ".b", "42.b", "0042.b", "042", "042.c", "100.b", "-01.b", "+42.b",
        " 42.b", "0x2.b", "04 .b", "4294967338.b", "99999999999999999999.b"}) {
    EXPECT_EQ(directory.Lookup(FileTree::kRoot, name), std::nullopt) << name;
  }
  const auto node = directory.Lookup(FileTree::kRoot, "042.b");
  EXPECT_EQ(directory.Path(*node), "042.b");
}

TEST(NumberedDirectory, MeasuresWhatHasNoKnownSize) {
  const auto files = Numbers(10, 1, "");
  const NumberedDirectory directory(*files);
  BlockCache cache(0);
  EXPECT_EQ(directory.SizeCost(8), Cost::kDecode);
  EXPECT_EQ(*directory.Size(8, cache), 7U);
  EXPECT_FALSE(directory.Describe(8, LoneContext()).has_value());
  const auto sized = Numbers(10, 1, "", "d", /*sized=*/true);
  EXPECT_EQ(NumberedDirectory(*sized).SizeCost(8), Cost::kNone);
  EXPECT_EQ(*NumberedDirectory(*sized).Size(8, cache), 7U);
}

TEST(NumberedDirectory, NeverTakesAnEntrysName) {
  const auto fake = std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{"d/000001"});
  fake->files = {Numbers(3, 6, "")};
  const ContainerTree container_tree(fake);
  const auto node = container_tree.tree().Lookup(NameTree::kRoot, "d~2");
  ASSERT_TRUE(node.has_value());
  EXPECT_NE(container_tree.Numbered(*node), nullptr);
  EXPECT_EQ(container_tree.Numbered(
                *container_tree.tree().Lookup(NameTree::kRoot, "d")),
            nullptr);
}

TEST(ContainerTree, PutsFilesAmongEntriesThatTheFormatNamed) {
  const auto fake = std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{"LOD0/tokens"});
  fake->names_entries_itself = true;
  fake->files = {TextFile("LOD0/header.json", "{}"),
                 Numbers(3, 6, "", "LOD0/blocks")};
  const ContainerTree container_tree(fake);
  const auto level = container_tree.tree().Lookup(NameTree::kRoot, "LOD0");
  ASSERT_TRUE(level.has_value());
  for (const char* name : {"tokens", "header.json", "blocks"}) {
    EXPECT_TRUE(container_tree.tree().Lookup(*level, name).has_value()) << name;
  }
}

}  // namespace
}  // namespace ctxfs
