// SPDX-License-Identifier: Apache-2.0
#include "core/tree/name_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// Every file's path by its number, and every directory's, marked by a '/'.
std::vector<std::string> PathsOf(const NameTree& tree, uint32_t files) {
  std::vector<std::string> paths(files);
  for (NodeId node = 1; node < tree.node_count(); ++node) {
    if (tree.IsDirectory(node)) continue;
    EXPECT_LT(tree.File(node), files);
    EXPECT_EQ(paths[tree.File(node)], "");
    paths[tree.File(node)] = tree.Path(node);
  }
  return paths;
}

/// Adds files 0, 1, ... at these paths and gives where they came to be.
std::vector<std::string> Placed(const std::vector<std::string>& paths) {
  TreeBuilder builder;
  FileId file = 0;
  for (std::string_view path : paths) {
    NodeId directory = NameTree::kRoot;
    for (size_t slash = path.find('/'); slash != std::string_view::npos;
         slash = path.find('/')) {
      directory = builder.MakeDirectory(directory, path.substr(0, slash));
      path.remove_prefix(slash + 1);
    }
    builder.AddFile(directory, path, file++);
  }
  return PathsOf(*std::move(builder).Build(), file);
}

using Paths = std::vector<std::string>;

TEST(NameTree, Item41_8_CountsDirectoriesAmongChildren) {
  TreeBuilder builder;
  const NodeId a = builder.MakeDirectory(NameTree::kRoot, "a");
  builder.AddFile(NameTree::kRoot, "f", 0);
  builder.AddFile(a, "b", 1);
  builder.MakeDirectory(a, "b");  // the file becomes b~file
  builder.MakeDirectory(a, "c");
  const Result<NameTree> tree = std::move(builder).Build();
  ASSERT_TRUE(Ok(tree));
  EXPECT_EQ(tree->DirectoryCount(NameTree::kRoot), 1U);
  EXPECT_EQ(tree->ChildCount(a), 3U);
  EXPECT_EQ(tree->DirectoryCount(a), 2U);
  EXPECT_EQ(tree->DirectoryCount(*tree->Lookup(a, "c")), 0U);
}

TEST(NameTree, OfNothingIsARoot) {
  const NameTree tree = *TreeBuilder().Build();
  EXPECT_EQ(tree.node_count(), 1U);
  EXPECT_TRUE(tree.IsDirectory(NameTree::kRoot));
  EXPECT_EQ(tree.Parent(NameTree::kRoot), NameTree::kRoot);
  EXPECT_EQ(tree.Path(NameTree::kRoot), "");
  EXPECT_EQ(tree.Name(NameTree::kRoot), "");
  EXPECT_EQ(tree.ChildCount(NameTree::kRoot), 0U);
  EXPECT_EQ(tree.Lookup(NameTree::kRoot, "a"), std::nullopt);
  EXPECT_EQ(tree.Lookup(NameTree::kRoot, ""), std::nullopt);
}

TEST(NameTree, KnowsNamesParentsPathsAndFiles) {
  TreeBuilder builder;
  const NodeId a = builder.MakeDirectory(NameTree::kRoot, "a");
  const NodeId b = builder.MakeDirectory(a, "b");
  EXPECT_EQ(builder.MakeDirectory(NameTree::kRoot, "a"), a) << "made but once";
  builder.AddFile(b, "x", 0);
  builder.AddFile(a, "x", 1);
  builder.AddFile(NameTree::kRoot, "x", 2);
  const NameTree tree = *std::move(builder).Build();
  ASSERT_EQ(tree.node_count(), 6U);

  const NodeId x = *tree.Lookup(b, "x");
  EXPECT_EQ(tree.Path(x), "a/b/x");
  EXPECT_EQ(tree.Name(x), "x");
  EXPECT_EQ(tree.Parent(x), b);
  EXPECT_EQ(tree.Parent(b), a);
  EXPECT_EQ(tree.Parent(a), NameTree::kRoot);
  EXPECT_FALSE(tree.IsDirectory(x));
  EXPECT_TRUE(tree.IsDirectory(b));
  EXPECT_EQ(tree.File(x), 0U);
  EXPECT_EQ(tree.File(*tree.Lookup(a, "x")), 1U);
  EXPECT_EQ(tree.File(*tree.Lookup(NameTree::kRoot, "x")), 2U);
  for (const std::string_view absent : {"", "X", "xx", "b", "a/b", "."}) {
    EXPECT_EQ(tree.Lookup(b, absent), std::nullopt) << absent;
  }
}

TEST(NameTree, ListsChildrenInTheOrderTheyCameUp) {
  TreeBuilder builder;
  const NodeId z = builder.MakeDirectory(NameTree::kRoot, "z");
  builder.AddFile(NameTree::kRoot, "m", 0);
  builder.AddFile(z, "inner", 1);
  builder.AddFile(NameTree::kRoot, "a", 2);
  builder.AddFile(z, "before", 3);
  builder.AddFile(NameTree::kRoot, "m", 4);
  const NameTree tree = *std::move(builder).Build();
  const auto names = [&](NodeId directory) {
    Paths all;
    for (uint32_t i = 0; i < tree.ChildCount(directory); ++i) {
      const NodeId child = tree.Child(directory, i);
      EXPECT_EQ(tree.Parent(child), directory);
      EXPECT_EQ(tree.Lookup(directory, tree.Name(child)), child);
      all.emplace_back(tree.Name(child));
    }
    return all;
  };
  EXPECT_EQ(names(NameTree::kRoot), (Paths{"z", "m", "a", "m~2"}));
  EXPECT_EQ(names(z), (Paths{"inner", "before"}));
}

TEST(TreeBuilder, GivesEqualNamesNumbersInIndexOrder) {
  EXPECT_EQ(Placed({"a", "a", "a"}), (Paths{"a", "a~2", "a~3"}));
  EXPECT_EQ(Placed({"d/a.bin", "d/a.bin", "e/a.bin"}),
            (Paths{"d/a.bin", "d/a~2.bin", "e/a.bin"}));
  EXPECT_EQ(Placed({".h", ".h"}), (Paths{".h", ".h~2"}));
}

TEST(TreeBuilder, NeverTakesANameThatAFileHasItself) {
  EXPECT_EQ(Placed({"a", "a", "a~2"}), (Paths{"a", "a~3", "a~2"}));
  EXPECT_EQ(Placed({"a~2", "a", "a"}), (Paths{"a~2", "a", "a~3"}));
  EXPECT_EQ(Placed({"a", "a", "a~2", "a~2"}),
            (Paths{"a", "a~3", "a~2", "a~2~2"}));
  EXPECT_EQ(Placed({"a", "a", "a~2/x", "a~3"}),
            (Paths{"a", "a~4", "a~2/x", "a~3"}));
}

TEST(TreeBuilder, LetsDirectoriesKeepTheirNames) {
  EXPECT_EQ(Placed({"a", "a/b"}), (Paths{"a~file", "a/b"}));
  EXPECT_EQ(Placed({"a/b", "a"}), (Paths{"a/b", "a~file"}));
  EXPECT_EQ(Placed({"a.x", "a.x/b"}), (Paths{"a.x~file", "a.x/b"}));
  EXPECT_EQ(Placed({"a", "a", "a/b", "a"}),
            (Paths{"a~file", "a~file~2", "a/b", "a~file~3"}));
  EXPECT_EQ(Placed({"a", "a/b", "a~file"}),
            (Paths{"a~file~2", "a/b", "a~file"}));
  EXPECT_EQ(Placed({"a", "a/b", "a/b/c"}),
            (Paths{"a~file", "a/b~file", "a/b/c"}));
}

TEST(TreeBuilder, FindsFreeNames) {
  TreeBuilder builder;
  EXPECT_EQ(builder.FreeName(NameTree::kRoot, ".ctxfs"), ".ctxfs");
  const NodeId d = builder.MakeDirectory(NameTree::kRoot, ".ctxfs");
  EXPECT_EQ(builder.FreeName(NameTree::kRoot, ".ctxfs"), ".ctxfs~2");
  EXPECT_EQ(builder.FreeName(d, ".ctxfs"), ".ctxfs");
  builder.AddFile(NameTree::kRoot, ".ctxfs~2", 0);
  EXPECT_EQ(builder.FreeName(NameTree::kRoot, ".ctxfs"), ".ctxfs~3");
  builder.AddFile(NameTree::kRoot, "m.json", 1);
  EXPECT_EQ(builder.FreeName(NameTree::kRoot, "m.json"), "m~2.json");
}

TEST(TreeBuilder, KeepsNamesOfTheGreatestLengthApart) {
  const std::string longest(255, 'n');
  const Paths placed = Placed(Paths(2000, longest));
  std::set<std::string> different;
  for (const std::string& path : placed) {
    EXPECT_LE(path.size(), 255U);
    different.insert(path);
  }
  EXPECT_EQ(different.size(), 2000U);
  EXPECT_EQ(placed[0], longest);
  EXPECT_EQ(placed[1999], std::string(239, 'n') + "~2000");
}

TEST(TreeBuilder, TakesAHundredThousandEqualNames) {
  const Paths placed = Placed(Paths(100'000, "same.bin"));
  EXPECT_EQ(placed[0], "same.bin");
  EXPECT_EQ(placed[1], "same~2.bin");
  EXPECT_EQ(placed[99'999], "same~100000.bin");
  EXPECT_EQ(std::set<std::string>(placed.begin(), placed.end()).size(),
            100'000U);
}

// All of these are cut to the same stem: the search for a free number must not
// begin anew for each. Quadratic, this takes minutes and not a second.
TEST(TreeBuilder, TakesEqualNamesThatShareALongBeginning) {
  constexpr int kNames = 8'000;
  Paths paths;
  for (int i = 0; i < kNames; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, 5 - number.size(), '0');
    paths.insert(paths.end(), 2, std::string(248, 'p') + "__" + number);
  }
  const Paths placed = Placed(paths);
  EXPECT_EQ(std::set<std::string>(placed.begin(), placed.end()).size(),
            placed.size());
  for (size_t i = 0; i < placed.size(); i += 2) {
    ASSERT_EQ(placed[i], paths[i]) << "the first of two keeps it";
  }
}

TEST(TreeBuilder, AgreesWithAMapOnRandomTrees) {
  std::mt19937 random(3);
  for (const uint32_t guess : {0U, 10U, 100'000U}) {
    TreeBuilder builder(guess);
    std::map<std::pair<NodeId, std::string>, NodeId> directories;
    std::map<std::pair<NodeId, std::string>, FileId> files;
    std::vector<NodeId> made = {NameTree::kRoot};
    FileId next = 0;
    for (int i = 0; i < 20'000; ++i) {
      const NodeId parent = made[random() % made.size()];
      const bool directory = random() % 4 == 0;
      const std::string name =
          (directory ? "d" : "f") + std::to_string(random() % 3000);
      if (directory) {
        const NodeId node = builder.MakeDirectory(parent, name);
        const auto [found, is_new] =
            directories.emplace(std::pair(parent, name), node);
        ASSERT_EQ(found->second, node);
        if (is_new) made.push_back(node);
      } else if (files.emplace(std::pair(parent, name), next).second) {
        builder.AddFile(parent, name, next++);
      }
    }
    const NameTree tree = *std::move(builder).Build();
    EXPECT_EQ(tree.node_count(), 1 + directories.size() + files.size());
    for (const auto& [place, node] : directories) {
      ASSERT_EQ(tree.Lookup(place.first, place.second), node);
      ASSERT_TRUE(tree.IsDirectory(node));
    }
    for (const auto& [place, file] : files) {
      const std::optional<NodeId> node = tree.Lookup(place.first, place.second);
      ASSERT_TRUE(node.has_value());
      ASSERT_FALSE(tree.IsDirectory(*node));
      ASSERT_EQ(tree.File(*node), file);
    }
    uint64_t children = 0;
    for (const NodeId directory : made) children += tree.ChildCount(directory);
    EXPECT_EQ(children, tree.node_count() - 1);
  }
}

TEST(TreeBuilder, GivesTheSameTreeForTheSameFiles) {
  const auto build = [] {
    TreeBuilder builder;
    for (FileId i = 0; i < 3000; ++i) {
      const NodeId d =
          builder.MakeDirectory(NameTree::kRoot, "d" + std::to_string(i % 7));
      builder.AddFile(d, "f" + std::to_string(i % 100), i);
    }
    return *std::move(builder).Build();
  };
  const NameTree one = build();
  const NameTree two = build();
  ASSERT_EQ(one.node_count(), two.node_count());
  for (NodeId node = 0; node < one.node_count(); ++node) {
    ASSERT_EQ(one.Path(node), two.Path(node));
    ASSERT_EQ(one.IsDirectory(node), two.IsDirectory(node));
  }
}

TEST(TreeBuilder, TakesNoMoreNodesThanItsLimit) {
  for (const uint32_t files : {9U, 10U}) {
    TreeBuilder builder(0, {.nodes = 12, .name_bytes = 1 << 20});
    const NodeId d = builder.MakeDirectory(NameTree::kRoot, "d");
    for (FileId i = 0; i < files; ++i) {
      builder.AddFile(d, "f" + std::to_string(i), i);
    }
    builder.AddFile(d, "f0", files);  // ResolveConflicts makes it one more
    const bool fits = files == 9;
    EXPECT_TRUE(builder.ok());
    builder.ResolveConflicts();
    EXPECT_EQ(builder.ok(), fits);
    builder.MakeDirectory(NameTree::kRoot, "too much");
    EXPECT_FALSE(builder.ok()) << "for good";
    EXPECT_TRUE(Fails(std::move(builder).Build(), Code::kLimit));
  }
}

// Names are found by 32 bits: a limit, and not a wrap.
TEST(TreeBuilder, TakesNoMoreBytesOfNamesThanItsLimit) {
  const std::string name(200, 'n');
  TreeBuilder builder(0, {.nodes = 1'000'000, .name_bytes = 1 << 20});
  FileId files = 0;
  while (builder.ok()) {
    builder.AddFile(NameTree::kRoot, name + std::to_string(files), files);
    ++files;
    ASSERT_LE(files, (1U << 20) / 200);
  }
  EXPECT_GT(files, (1U << 20) / 210 - 10) << "the limit, and not much before";
  EXPECT_TRUE(Fails(std::move(builder).Build(), Code::kLimit));
}

TEST(TreeBuilder, TakesLongNamesWhereverAPieceEnds) {
  TreeBuilder builder;
  std::vector<std::string> names;
  for (FileId i = 0; i < 20'000; ++i) {
    std::string name = std::to_string(i) + "/";
    name.back() = ':';
    name.append(i * 7919 % (255 - name.size() + 1), 'x');
    names.push_back(name);
    builder.AddFile(NameTree::kRoot, names.back(), i);
  }
  const NameTree tree = *std::move(builder).Build();
  for (FileId i = 0; i < names.size(); ++i) {
    const std::optional<NodeId> node = tree.Lookup(NameTree::kRoot, names[i]);
    ASSERT_TRUE(node.has_value());
    ASSERT_EQ(tree.File(*node), i);
    ASSERT_EQ(tree.Name(*node), names[i]);
  }
}

TEST(TreeBuilder, GivesANameToTheLastFileIfItIsAskedTo) {
  TreeBuilder builder;
  const NodeId folder = builder.MakeDirectory(NameTree::kRoot, "d");
  for (FileId file = 0; file < 3; ++file) {
    builder.AddFile(folder, "x.txt", file, /*replace=*/true);
  }
  builder.AddFile(NameTree::kRoot, "d", 3, /*replace=*/true);
  const NameTree tree = *std::move(builder).Build();
  EXPECT_EQ(tree.File(*tree.Lookup(folder, "x.txt")), 2U);
  EXPECT_EQ(tree.File(*tree.Lookup(folder, "x~2.txt")), 0U);
  EXPECT_EQ(tree.File(*tree.Lookup(folder, "x~3.txt")), 1U);
  EXPECT_EQ(tree.File(*tree.Lookup(NameTree::kRoot, "d~file")), 3U);
  EXPECT_TRUE(tree.IsDirectory(folder));
}

// What a million pairs of equal names cost is their nodes.
TEST(TreeBuilder, RemembersNoSearchThatWasShort) {
  constexpr uint32_t kPairs = 100'000;
  const int64_t before = HeapBytes();
  TreeBuilder builder(2 * kPairs);
  for (FileId i = 0; i < 2 * kPairs; ++i) {
    builder.AddFile(NameTree::kRoot, "name" + std::to_string(i / 2), i);
  }
  builder.ResolveConflicts();
  EXPECT_LT((HeapBytes() - before) / (2 * kPairs), 16 + 12 + 16 + 12);
  const NameTree tree = *std::move(builder).Build();
  EXPECT_TRUE(tree.Lookup(NameTree::kRoot, "name99999~2").has_value());
}

TEST(NameTree, CostsLittleMemoryForANode) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  constexpr uint32_t kNodes = 200'000;
  const int64_t before = HeapBytes();
  TreeBuilder builder(kNodes);
  for (FileId i = 0; i < kNodes; ++i) {
    std::string name = std::to_string(i);
    name.insert(0, 10 - name.size(), 'n');
    builder.AddFile(NameTree::kRoot, name, i);
  }
  const NameTree tree = *std::move(builder).Build();
  const int64_t bytes = HeapBytes() - before;
  // 16 for the node, 10 for its name, 4 in its parent's list, and 8 in a table
  // that may be twice as large as it would have to be.
  EXPECT_LT(bytes / kNodes, 16 + 10 + 4 + 16 + 1);
  EXPECT_GT(bytes / kNodes, 16 + 10 + 4);
  EXPECT_EQ(tree.node_count(), kNodes + 1);
}

}  // namespace
}  // namespace ctxfs
