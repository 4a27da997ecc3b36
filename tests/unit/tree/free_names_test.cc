// SPDX-License-Identifier: Apache-2.0
#include "core/tree/free_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/tree/container_tree.h"
#include "core/tree/name_tree.h"
#include "core/tree/safe_name.h"
#include "tests/unit/testing/fake_container.h"

namespace ctxfs {
namespace {

using Names = std::vector<std::optional<std::string>>;

/// What Find returns if nothing is remembered between searches.
std::string SearchAnew(const FreeNames::Series& series,
                       const std::set<std::string>& taken) {
  for (uint64_t n = series.first_is_taken ? 2 : 1;; ++n) {
    std::string mark(series.mark);
    if (n > 1) mark += "~" + std::to_string(n);
    std::string name =
        mark.empty() ? std::string(series.name)
                     : MarkedComponent(series.name, mark, series.mark.empty());
    if (!taken.contains(name)) return name;
  }
}

TEST(FreeNames, FindsWhatASearchWithoutMemoryFinds) {
  const std::string long_name(250, 'n');
  const std::vector<std::string> names = {
      "a",
      "a~2",
      "a~file",
      "a~2.b",
      "a.b",
      "a~.~file~",
      "a.~file~",
      "a~.b",
      ".h",
      long_name,
      long_name + "x",
      std::string(17, 'a') + "~." + std::string(231, 'x'),
      std::string(17, 'a') + "." + std::string(220, 'x') + "~"};
  std::mt19937 random(7);
  std::set<std::string> taken;
  FreeNames free_names;
  for (int i = 0; i < 4000; ++i) {
    FreeNames::Series series{0, names[random() % names.size()]};
    if (random() % 3 == 0) series.mark = "~file";
    if (series.mark.empty() && random() % 2 == 0) {
      taken.insert(std::string(series.name));
      series.first_is_taken = true;
    }
    const std::string found = free_names.Find(
        series, [&](const std::string& name) { return taken.contains(name); });
    ASSERT_EQ(found, SearchAnew(series, taken)) << series.name;
    taken.insert(found);
  }
}

TEST(FreeNames, KeepsDirectoriesApart) {
  TreeBuilder builder;
  const NodeId a = builder.MakeDirectory(NameTree::kRoot, "a");
  const NodeId b = builder.MakeDirectory(NameTree::kRoot, "b");
  for (FileId file = 0; file < 20; ++file) {
    builder.AddFile(a, builder.FreeName(a, "x"), file);
  }
  EXPECT_EQ(builder.FreeName(a, "x"), "x~21");
  EXPECT_EQ(builder.FreeName(b, "x"), "x");
  builder.MakeDirectory(b, "x");
  EXPECT_EQ(builder.FreeName(b, "x"), "x~2");
}

/// The names that are tried while the tree of these entries is made.
uint64_t Tried(Names names, Container::Tables own = {}) {
  auto container = std::make_shared<FakeContainer>(std::move(names));
  container->may_nest = true;
  container->files = std::move(own);
  const ContainerTree container_tree(container);
  EXPECT_TRUE(container_tree.status());
  return container_tree.tree().names_tried();
}

std::string Marked(const std::string& name, size_t n) {
  return n == 1 ? name : MarkedComponent(name, "~" + std::to_string(n), true);
}

/// `count` entries that take the names NAME, NAME~2, ...
Names Taken(const std::string& name, size_t count) {
  Names names;
  for (size_t n = 1; n <= count; ++n) names.emplace_back(Marked(name, n));
  return names;
}

Names operator+(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// A container of a size in proportion to `n`, and the names it tries.
struct Growth {
  const char* what;
  uint64_t (*tried)(size_t n);
};

// Whatever is named, twice the names may be tried for a container of twice the
// size. Searches that begin anew try four times as many: 1,000 entries
// NAME.mcf beside 100,000 names that NAME.mcf~dir would get took 14 s.
class FreeNamesGrowth : public testing::TestWithParam<Growth> {};

TEST_P(FreeNamesGrowth, IsLinear) {
  const uint64_t once = GetParam().tried(400);
  const uint64_t twice = GetParam().tried(800);
  RecordProperty("once", std::to_string(once));
  RecordProperty("twice", std::to_string(twice));
  EXPECT_GT(once, 400U);
  EXPECT_LE(twice, 2 * once + 100) << once << " names, then " << twice;
  EXPECT_LE(twice, 8U * 2 * 800);
}

INSTANTIATE_TEST_SUITE_P(
    , FreeNamesGrowth,
    testing::Values(
        Growth{"equal_names",
               [](size_t n) { return Tried(Names(n, "x.bin")); }},
        Growth{"equal_names_beside_taken_ones",
               [](size_t n) {
                 return Tried(Names(n, "x.bin") + Taken("x.bin", n));
               }},
        Growth{"names_cut_alike",
               [](size_t n) {
                 Names names;
                 for (size_t i = 0; i < n; ++i) {
                   const std::string tail = std::to_string(1000 + i);
                   names.emplace_back(std::string(250, 'n') + tail.substr(1));
                   names.push_back(names.back());
                 }
                 return Tried(std::move(names));
               }},
        Growth{"inner_containers",
               [](size_t n) {
                 return Tried(Names(n, "x.mcf") + Taken("x.mcf~dir", n));
               }},
        Growth{"files_beside_a_directory",
               [](size_t n) {
                 Names names = Names(n, "x") + Names{"x/y", "x~file"};
                 for (size_t i = 2; i < n; ++i) {
                   names.emplace_back("x~file~" + std::to_string(i));
                 }
                 return Tried(std::move(names));
               }},
        Growth{"own_files",
               [](size_t n) {
                 Container::Tables own;
                 for (size_t i = 0; i < n; ++i) {
                   own.push_back(TextFile("own.json", "x"));
                 }
                 return Tried(Taken("own.json", n), std::move(own));
               }},
        Growth{"own_directories",
               [](size_t n) {
                 return Tried(Taken(".ctxfs", n) + Taken("views", n),
                              {TextFile("a", "a", Role::kViews)});
               }}),
    [](const auto& one) { return one.param.what; });

}  // namespace
}  // namespace ctxfs
