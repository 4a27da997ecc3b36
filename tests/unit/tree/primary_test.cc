// SPDX-License-Identifier: Apache-2.0
//
// Which files of a container are primary ones (docs/tree.md, sections 2 to 5).
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/tree/container_tree.h"
#include "core/tree/index_json.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/fake_tree.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

std::string ReadText(const ContainerTree& tree, std::string_view path) {
  const std::optional<NodeId> node = Find(tree, path);
  EXPECT_TRUE(node.has_value()) << path;
  if (!node) return {};
  BlockCache cache(1 << 20);
  const Result<Content> content = tree.Open(*node, cache);
  EXPECT_TRUE(Ok(content)) << path;
  return content ? *ReadAll(*content, cache) : std::string();
}

TEST(PrimaryFiles, AreThoseOfTheEntriesAndTheRoot) {
  const auto fake = Fake({"a", "d/b"});
  fake->files = {TextFile("own.json", "{}"),
                 TextFile("x", "again", Role::kViews),
                 TextFile("sections/1", "raw", Role::kRaw),
                 TextFile("more.json", "{}", Role::kMetadata)};
  const ContainerTree tree(fake);
  EXPECT_EQ(tree.PrimaryFiles(), 3U);
  EXPECT_EQ(tree.TotalSize(), 4 + 6U) << "what is known without reading";
  EXPECT_EQ(ReadText(tree, ".ctxfs/raw/sections/1"), "raw");
  EXPECT_EQ(ReadText(tree, "views/x"), "again");
  for (const char* path : {"a", "d/b", "own.json", ".ctxfs/raw/sections/1"}) {
    EXPECT_TRUE(tree.IsData(*Find(tree, path))) << path;
  }
  for (const char* path : {"views/x", ".ctxfs/more.json", ".ctxfs/info.json"}) {
    EXPECT_FALSE(tree.IsData(*Find(tree, path))) << path;
  }
}

TEST(PrimaryFiles, KnowTheDirectoriesAside) {
  const auto fake = Fake({"views/x", ".ctxfs", "d/views/y", "d/.ctxfs/z"});
  fake->files = {TextFile("v", "again", Role::kViews)};
  const ContainerTree tree(fake);
  EXPECT_EQ(tree.Aside(Role::kViews), Find(tree, "views~2"));
  EXPECT_EQ(tree.Aside(Role::kMetadata), Find(tree, ".ctxfs~2"));
}

TEST(RawEntries, AreTheEntriesAllTheSame) {
  const auto fake = Fake({"a", "d/b", "a"});
  fake->directory = "sections";
  fake->raw_entries = true;
  fake->files = {TextFile("own.json", "{}")};
  const ContainerTree tree(fake);
  EXPECT_EQ(ReadText(tree, ".ctxfs/raw/sections/a"), "of a");
  EXPECT_EQ(ReadText(tree, ".ctxfs/raw/sections/d/b"), "of d/b");
  EXPECT_EQ(ReadText(tree, ".ctxfs/raw/sections/a~2"), "of a");
  EXPECT_EQ(tree.entries()->count(), 3U);
  EXPECT_EQ(fake->Entries()->count(), 3U);
  EXPECT_EQ(tree.Entry(*Find(tree, ".ctxfs/raw/sections/a~2")), 2U);
  EXPECT_EQ(tree.Entry(*Find(tree, "own.json")), std::nullopt);
  const Json index = Json::parse(ReadText(tree, ".ctxfs/index.json"));
  ASSERT_EQ(index.size(), 3U);
  EXPECT_EQ(index[0]["path"], ".ctxfs/raw/sections/a");
  EXPECT_EQ(index[2]["path"], ".ctxfs/raw/sections/a~2");
  EXPECT_EQ(tree.PrimaryFiles(), 1U);
  EXPECT_EQ(tree.TotalSize(), 0U) << "they are no primary files";
  BlockCache cache(1 << 20);
  EXPECT_EQ(*tree.Size(*Find(tree, "own.json"), cache), 2U);
  EXPECT_EQ(tree.TotalSize(), 2U);
  EXPECT_EQ(Find(tree, "sections"), std::nullopt);
}

TEST(NestedContainers, AreViewsWithThePathsOfTheirEntries) {
  const std::string inner = BuildShard({.entries = {Raw("x", "y")}});
  const auto shard = OpenContainer(
      std::make_shared<MemorySource>(BuildShard(
          {.entries = {Raw("a/b.shard", inner), Raw("views", "theirs")}})),
      {});
  ASSERT_TRUE(Ok(shard));
  const ContainerTree tree(*shard);
  const std::optional<NodeId> inside = Find(tree, "views~2/a/b.shard~dir");
  ASSERT_TRUE(inside.has_value());
  ASSERT_TRUE(tree.ShowsContainer(*inside));
  EXPECT_EQ(tree.NestedAt(*inside)->role, Role::kViews);
  EXPECT_EQ(Find(tree, "a/b.shard~dir"), std::nullopt);
  EXPECT_EQ(tree.PrimaryFiles(), 2U);
}

// views/ is there for entries that turn out to be containers, and for no
// others.
TEST(NestedContainers, ThatAreNotContainersMakeNoViews) {
  for (const bool is : {true, false}) {
    const std::string inner = BuildShard({.entries = {Raw("x", "y")}});
    const auto shard = OpenContainer(
        std::make_shared<MemorySource>(BuildShard(
            {.entries = {Raw("a/b.shard", is ? inner : "no container")}})),
        {});
    ASSERT_TRUE(Ok(shard));
    const ContainerTree tree(*shard);
    BlockCache cache(1 << 20);
    for (const char* path : {"views", "views/a", "views/a/b.shard~dir"}) {
      const Result<bool> exists =
          tree.Exists(*Find(tree, path), Cost::kSmallRead, cache);
      ASSERT_TRUE(Ok(exists));
      EXPECT_EQ(*exists, is) << path;
    }
  }
}

}  // namespace
}  // namespace ctxfs
