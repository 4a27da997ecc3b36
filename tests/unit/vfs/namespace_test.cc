// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/namespace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Paths = std::map<std::string, Inode>;

std::shared_ptr<FakeContainer> Fake() {
  return std::make_shared<FakeContainer>(
      std::vector<std::optional<std::string>>{"a", "d/b", "d/e/c"});
}

Attributes Examine(const Namespace& files, Inode inode) {
  BlockCache& cache = TheCache();
  const Result<Attributes> attributes = files.Examine(inode, cache);
  EXPECT_TRUE(Ok(attributes));
  return attributes ? *attributes : Attributes();
}

uint64_t ChildCount(const Namespace& files, Inode directory) {
  BlockCache& cache = TheCache();
  const auto listing = files.OpenDirectory(directory, cache);
  EXPECT_TRUE(Ok(listing));
  EXPECT_TRUE(Ok((*listing)->Rewind(cache)));
  return (*listing)->count();
}

/// Every path below `directory` with its inode; sees to it that lists, look-ups
/// and parents agree and that no inode comes twice.
void List(const Namespace& files, Inode directory, const std::string& path,
          Paths& all) {
  BlockCache& cache = TheCache();
  const auto listing = files.OpenDirectory(directory, cache);
  ASSERT_TRUE(Ok(listing));
  ASSERT_TRUE(Ok((*listing)->Rewind(cache)));
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    const std::optional<Listing::Name> child =
        (*listing)->At(i, true, LoneContext());
    if (!child) continue;
    const auto found = LookUp(files, directory, child->name);
    ASSERT_TRUE(found.has_value()) << child->name;
    EXPECT_EQ(found->inode, child->inode) << child->name;
    EXPECT_EQ(found->attributes.directory, child->directory);
    EXPECT_EQ(files.Parent(child->inode, LoneContext()), directory)
        << path << child->name;
    EXPECT_EQ(Examine(files, child->inode).directory, child->directory);
    if (child->attributes) {
      EXPECT_EQ(child->attributes->size, found->attributes.size);
    }
    for (const auto& [other, inode] : all) {
      EXPECT_NE(inode, child->inode) << other << " and " << path << child->name;
    }
    EXPECT_TRUE(all.emplace(path + child->name, child->inode).second);
    if (child->directory)
      List(files, child->inode, path + child->name + "/", all);
  }
}

Paths AllPaths(const Namespace& files) {
  Paths all;
  List(files, kRootInode, "", all);
  return all;
}

std::set<std::string> Names(const Paths& paths) {
  std::set<std::string> names;
  for (const auto& [path, inode] : paths) names.insert(path);
  return names;
}

Result<std::string> Read(const Namespace& files, std::string_view path) {
  const std::optional<Inode> inode = Walk(files, path);
  if (!inode) return Error{Code::kNotFound, std::string(path)};
  BlockCache& cache = TheCache();
  Result<OpenFile> file = files.Open(*inode, cache);
  if (!file) return std::move(file).error();
  Result<std::string> bytes = ReadAll(file->content, cache);
  if (bytes) {
    EXPECT_EQ(Examine(files, *inode).size, bytes->size()) << path;
  }
  return bytes;
}

TEST(Namespace, HangsTheContainerBelowItsName) {
  const Namespace files({.container = Fake(),
                         .name = "model.mcf",
                         .stats = StatsFile(),
                         .list_mode = ListMode::kAll});
  const Paths paths = AllPaths(files);
  EXPECT_EQ(Names(paths),
            (std::set<std::string>{
                "model.mcf", "model.mcf/a", "model.mcf/d", "model.mcf/d/b",
                "model.mcf/d/e", "model.mcf/d/e/c", "model.mcf/.ctxfs",
                "model.mcf/.ctxfs/info.json", "model.mcf/.ctxfs/index.json",
                "model.mcf/.ctxfs/faults.json", "model.mcf/.ctxfs/container",
                ".ctxfs", ".ctxfs/stats"}));
  EXPECT_EQ(files.Totals().files, 3U) << "the primary ones";
  EXPECT_EQ(files.Parent(kRootInode, LoneContext()), kRootInode);
  EXPECT_TRUE(Examine(files, kRootInode).directory);
  EXPECT_EQ(*Read(files, "model.mcf/d/e/c"), "of d/e/c");
  EXPECT_EQ(*Read(files, ".ctxfs/stats"), "S");
  EXPECT_EQ(files.PathInContainer(paths.at("model.mcf/d/b"), LoneContext()),
            "d/b");
  EXPECT_EQ(files.Totals().bytes, 4 + 6 + 8U);
}

TEST(Namespace, ShowsTheContainerAtTheRootWhenFlat) {
  const Namespace files(
      {.container = Fake(), .stats = StatsFile(), .list_mode = ListMode::kAll});
  const Paths paths = AllPaths(files);
  EXPECT_EQ(Names(paths),
            (std::set<std::string>{"a", "d", "d/b", "d/e", "d/e/c", ".ctxfs",
                                   ".ctxfs/info.json", ".ctxfs/index.json",
                                   ".ctxfs/faults.json", ".ctxfs/container",
                                   ".ctxfs/stats"}));
  EXPECT_EQ(files.Totals().files, 3U);
  EXPECT_EQ(files.Parent(kRootInode, LoneContext()), kRootInode);
  EXPECT_EQ(*Read(files, ".ctxfs/stats"), "S");
  EXPECT_EQ(*Read(files, "d/b"), "of d/b");
}

TEST(Namespace, GivesTheSameInodesOnEveryMount) {
  for (const char* name : {"", "x"}) {
    EXPECT_EQ(AllPaths(Namespace(Shown{
                  .container = Fake(), .name = name, .stats = StatsFile()})),
              AllPaths(Namespace(Shown{
                  .container = Fake(), .name = name, .stats = StatsFile()})));
  }
}

TEST(Namespace, MakesTheContainersNameSafe) {
  const Namespace own(
      {.container = Fake(), .name = ".ctxfs", .stats = StatsFile()});
  EXPECT_EQ(*Read(own, ".ctxfs/a"), "of a");
  EXPECT_EQ(*Read(own, ".ctxfs~2/stats"), "S");
  const Namespace percent(
      {.container = Fake(), .name = "%", .stats = StatsFile()});
  EXPECT_EQ(*Read(percent, "%25/a"), "of a");
  const Namespace dots(
      {.container = Fake(), .name = "..", .stats = StatsFile()});
  EXPECT_EQ(*Read(dots, "%2E%2E/a"), "of a");
}

TEST(Namespace, KnowsWhatItsFilesAre) {
  for (const std::string top : {"", "x"}) {
    const Namespace files(
        {.container = Fake(), .name = top, .stats = StatsFile()});
    const std::string below = top.empty() ? "" : top + "/";
    const Inode entry = *Walk(files, below + "d/b");
    const Inode info = *Walk(files, below + ".ctxfs/info.json");
    const Inode stats = *Walk(files, ".ctxfs/stats");
    EXPECT_EQ((*files.Describe(entry, LoneContext()))->name, "d/b");
    EXPECT_FALSE((*files.Describe(info, LoneContext())).has_value());
    EXPECT_FALSE((*files.Describe(stats, LoneContext())).has_value());
    EXPECT_EQ(Examine(files, stats).lifetime, Lifetime::kNone);
    EXPECT_EQ(Examine(files, entry).lifetime, Lifetime::kForever);
    EXPECT_EQ(Examine(files, info).lifetime, Lifetime::kForever);
    EXPECT_EQ(Examine(files, kRootInode).lifetime, Lifetime::kForever);
    EXPECT_EQ(files.NamesLast(kRootInode), Lifetime::kForever);
    EXPECT_EQ(Walk(files, below + "d/nothing"), std::nullopt);
    EXPECT_EQ(Walk(files, "nothing"), std::nullopt);
  }
}

std::shared_ptr<const FileTable> Blocks(uint32_t count, std::string directory,
                                        std::string suffix = "") {
  return FakeNumbers(std::move(directory), count,
                     Numbering{6, std::move(suffix)},
                     [](uint32_t file) { return std::to_string(file); });
}

/// A container with a directory of `count` numbered files beside its entries.
std::shared_ptr<FakeContainer> WithBlocks(uint32_t count) {
  const auto fake = Fake();
  fake->files = {Blocks(count, "LOD0/blocks")};
  return fake;
}

TEST(NumberedInNamespace, FilesAreWhereTheirNumbersSay) {
  const Namespace files(
      {.container = WithBlocks(30), .name = "top", .stats = StatsFile()});
  const Paths paths = AllPaths(files);
  EXPECT_EQ(paths.count("top/LOD0/blocks/000029"), 1U);
  EXPECT_EQ(paths.count("top/LOD0/blocks/000030"), 0U);
  EXPECT_EQ(*Read(files, "top/LOD0/blocks/000017"), "17");
  const Inode block = paths.at("top/LOD0/blocks/000017");
  EXPECT_EQ(files.PathInContainer(block, LoneContext()), "LOD0/blocks/000017");
  EXPECT_FALSE((*files.Describe(block, LoneContext())).has_value());
  EXPECT_EQ(
      AllPaths(Namespace(Shown{
          .container = WithBlocks(30), .name = "top", .stats = StatsFile()})),
      paths);
  EXPECT_EQ(files.Totals().files, 3U + 30U) << "the entries, and these";
}

TEST(NumberedInNamespace, ABillionFilesCostNothing) {
  const uint32_t count = UINT32_MAX - 1;
  const Namespace files({.container = WithBlocks(count), .stats = StatsFile()});
  const Inode blocks = *Walk(files, "LOD0/blocks");
  EXPECT_EQ(ChildCount(files, blocks), count);
  BlockCache& cache = TheCache();
  const auto last =
      (*files.OpenDirectory(blocks, cache))->At(count - 1, true, LoneContext());
  EXPECT_EQ(last->name, "4294967293");
  EXPECT_EQ(last->attributes->size, last->name.size());
  EXPECT_EQ(LookUp(files, blocks, last->name)->inode, last->inode);
  EXPECT_EQ(files.Parent(last->inode, LoneContext()), blocks);
  EXPECT_EQ(*Read(files, "LOD0/blocks/4294967293"), "4294967293");
  EXPECT_FALSE(LookUp(files, blocks, "4294967294").has_value());
}

TEST(NumberedInNamespace, WorksInContainersWithinContainers) {
  // A file of such a container has its own inode, whatever its neighbours'.
  const auto fake = Fake();
  fake->files = {Blocks(3, "LOD0/blocks"), Blocks(3, "LOD1/gist", ".f16")};
  const Namespace files({.container = fake, .name = "x", .stats = StatsFile()});
  EXPECT_EQ(*Read(files, "x/LOD1/gist/000002.f16"), "2");
  EXPECT_EQ(AllPaths(files).count("x/LOD1/gist/000000.f16"), 1U);
}

/// A container that has `bytes` as a container within it, twice.
class Nest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeContainer> Make() {
    const auto fake = Fake();
    const auto open =
        [this](const ReadContext&) -> Result<std::shared_ptr<const Source>> {
      ++opened;
      if (broken) return Error{Code::kIo, "broken"};
      return std::shared_ptr<const Source>(
          std::make_shared<MemorySource>(bytes));
    };
    fake->children = {{"chunks/0", open}, {"chunks/1", open}};
    return fake;
  }

  std::string bytes =
      BuildShard({.entries = {Raw("in/x", "hello"), ZstdEntry("z", Prose(900))},
                  .role = 16});
  std::atomic<int> opened = 0;
  std::atomic<bool> broken = false;
};

TEST_F(Nest, IsOpenedWhenSomeoneLooksInside) {
  const Namespace files(
      {.container = Make(), .name = "top", .stats = StatsFile()});
  EXPECT_TRUE(Examine(files, *Walk(files, "top/chunks/0")).directory);
  EXPECT_EQ(ChildCount(files, *Walk(files, "top/chunks")), 2U);
  EXPECT_EQ(opened, 0) << "nobody has looked inside";
  EXPECT_EQ(*Read(files, "top/chunks/0/in/x"), "hello");
  EXPECT_EQ(opened, 1);
  EXPECT_TRUE(*Read(files, "top/chunks/0/z") == Prose(900));
  EXPECT_EQ(opened, 1) << "and stays open";
  EXPECT_EQ(*Read(files, "top/chunks/1/in/x"), "hello");
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(*Read(files, "top/chunks/0/.ctxfs/container"), bytes);
  EXPECT_EQ(
      files.PathInContainer(*Walk(files, "top/chunks/1/in/x"), LoneContext()),
      "in/x");
  EXPECT_EQ(
      (*files.Describe(*Walk(files, "top/chunks/1/in/x"), LoneContext()))->name,
      "in/x");
}

TEST_F(Nest, MayHaveOthersBelowIt) {
  const std::shared_ptr<FakeContainer> fake = Make();
  const auto open = fake->children[0].open_source;
  fake->children = {{"good/z", open, Role::kEntries},
                    {"good", open, Role::kEntries},
                    {"good/child", open, Role::kEntries},
                    {"d/b", open, Role::kEntries},
                    {"good", open, Role::kEntries}};
  const Namespace files(
      {.container = fake, .name = "top", .stats = StatsFile()});
  EXPECT_EQ(*Read(files, "top/good/in/x"), "hello");
  EXPECT_EQ(*Read(files, "top/good/child/in/x"), "hello");
  EXPECT_EQ(*Read(files, "top/good/z/in/x"), "hello") << "before good's own z";
  EXPECT_EQ(*Read(files, "top/good~2/z"), Prose(900));
  EXPECT_EQ(*Read(files, "top/d/b/in/x"), "hello");
  EXPECT_EQ(*Read(files, "top/d/b~file"), "of d/b");
  BlockCache& cache = TheCache();
  const Inode good = *Walk(files, "top/good");
  std::multiset<std::string> names;
  const auto listing = files.OpenDirectory(good, cache);
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    const std::optional<Listing::Name> child =
        (*listing)->At(i, true, LoneContext());
    if (!child) continue;
    names.insert(child->name);
    EXPECT_EQ(files.Parent(child->inode, LoneContext()), good) << child->name;
    EXPECT_EQ(LookUp(files, good, child->name)->inode, child->inode);
  }
  EXPECT_EQ(names, (std::multiset<std::string>{"z", "child", "in"}));
}

TEST_F(Nest, HasInodesThatAreTheSameOnEveryMount) {
  const Namespace one(
      {.container = Make(), .name = "top", .stats = StatsFile()});
  const Paths first = AllPaths(one);
  const Namespace two(
      {.container = Make(), .name = "top", .stats = StatsFile()});
  EXPECT_TRUE(Walk(two, "top/chunks/1/z").has_value()) << "in another order";
  EXPECT_EQ(AllPaths(two), first);
  EXPECT_EQ(first.count("top/chunks/0/in/x"), 1U);
  EXPECT_EQ(AllPaths(one), first) << "and at every listing";
}

TEST_F(Nest, ThatCannotBeOpenedSaysWhy) {
  bytes = "no container at all";
  const Namespace files(
      {.container = Make(), .name = "top", .stats = StatsFile()});
  EXPECT_EQ(ChildCount(files, *Walk(files, "top/chunks/0")), 1U);
  EXPECT_EQ(*Read(files, "top/chunks/0/.ctxfs/container"), bytes);
  EXPECT_NE(Read(files, "top/chunks/0/.ctxfs/info.json")
                ->find("not a container of a known format"),
            std::string::npos);
  EXPECT_EQ(*Read(files, "top/a"), "of a") << "the rest is well";
}

TEST_F(Nest, ThatCouldNotBeReadIsTriedAgain) {
  broken = true;
  const Namespace files(
      {.container = Make(), .name = "top", .stats = StatsFile()});
  BlockCache& cache = TheCache();
  const Inode chunk = *Walk(files, "top/chunks/1");
  EXPECT_TRUE(Fails(files.Lookup(chunk, "in", cache), Code::kIo));
  EXPECT_TRUE(Fails(files.OpenDirectory(chunk, cache), Code::kIo));
  broken = false;
  EXPECT_EQ(*Read(files, "top/chunks/1/in/x"), "hello");
}

TEST_F(Nest, IsTheSameForAllThreads) {
  for (int round = 0; round < 20; ++round) {
    const Namespace files({.container = Make(), .stats = StatsFile()});
    std::atomic<int> wrong = 0;
    std::vector<Inode> found(8);
    InThreads(8, [&](int i) {
      const std::optional<Inode> inode =
          Walk(files, i % 2 == 0 ? "chunks/0/in/x" : "chunks/1/in/x");
      if (!inode || Examine(files, *inode).directory) ++wrong;
      found[static_cast<size_t>(i)] = inode.value_or(0);
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(std::set<Inode>(found.begin(), found.end()).size(), 2U);
  }
}

TEST(InnerContainer, IsAViewOfTheEntryThatItIs) {
  const std::string innermost =
      BuildShard({.entries = {Raw("deep", "bottom")}, .role = 16});
  const std::string inner = BuildShard(
      {.entries = {Raw("x", "hello"), ZstdEntry("in.shard", innermost)},
       .role = 16});
  const std::string outer = BuildShard(
      {.entries = {Raw("a/raw.shard", inner), ZstdEntry("zstd.mosh", inner),
                   Raw("text.shard", "no container at all"),
                   ZstdEntry("prose.mcf", Prose(900)), Raw("noext", inner),
                   Raw("a/raw.shard~dir", "theirs")},
       .role = 16});
  const auto container =
      OpenContainer(std::make_shared<MemorySource>(outer), OpenOptions());
  ASSERT_TRUE(Ok(container));
  const Namespace files(
      {.container = *container, .name = "top", .stats = StatsFile()});
  EXPECT_EQ(*Read(files, "top/a/raw.shard"), inner);
  EXPECT_EQ(*Read(files, "top/a/raw.shard~dir"), "theirs");
  EXPECT_EQ(*Read(files, "top/views/a/raw.shard~dir/x"), "hello");
  EXPECT_EQ(*Read(files, "top/views/zstd.mosh~dir/x"), "hello");
  EXPECT_EQ(*Read(files, "top/views/zstd.mosh~dir/views/in.shard~dir/deep"),
            "bottom");
  EXPECT_EQ(Walk(files, "top/views/text.shard~dir"), std::nullopt);
  EXPECT_EQ(Walk(files, "top/views/prose.mcf~dir"), std::nullopt)
      << "when looked up";
  EXPECT_EQ(Walk(files, "top/views/noext~dir"), std::nullopt);
  BlockCache& cache = TheCache();
  const auto listing = files.OpenDirectory(*Walk(files, "top/views"), cache);
  std::set<std::string> names;
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    if (const auto name = (*listing)->At(i, false, LoneContext()))
      names.insert(name->name);
  }
  EXPECT_EQ(names.count("text.shard~dir"), 0U) << "told by its first bytes";
  EXPECT_EQ(names.count("zstd.mosh~dir"), 1U);
}

TEST(InnerContainer, OfADamagedEntryIsNotThereAndItsFileSaysWhy) {
  const std::string inner =
      BuildShard({.entries = {Raw("x", "h")}, .role = 16});
  ShardSpec spec{.entries = {Raw("r.shard", inner)}, .role = 16};
  std::string outer = BuildShard(spec);
  outer[outer.find("SHRD", 64) + 40] ^= 1;  // in the entry, past its magic
  const auto container =
      OpenContainer(std::make_shared<MemorySource>(outer), OpenOptions());
  ASSERT_TRUE(Ok(container));
  const Namespace files({.container = *container, .stats = StatsFile()});
  EXPECT_TRUE(Fails(Read(files, "r.shard"), Code::kChecksum));
  EXPECT_NE(Read(files, "views/r.shard~dir/.ctxfs/info.json")->find("checksum"),
            std::string::npos);
}

// A container that is decoded counts against the cache, and is decoded again
// when it is needed: so a tree of many takes no more than one.
TEST(InnerContainer, TakesNoMemoryWhileItIsOpen) {
  constexpr uint64_t kEach = 4 << 20;
  constexpr int kCount = 8;
  const std::string inner =
      BuildShard({.entries = {Raw("x", std::string(kEach, 'x'))}, .role = 16});
  ShardSpec spec{.entries = {}, .role = 16};
  for (int i = 0; i < kCount; ++i) {
    spec.entries.push_back(ZstdEntry(std::to_string(i) + ".shard", inner));
  }
  const auto container =
      OpenContainer(std::make_shared<MemorySource>(BuildShard(spec)), {});
  ASSERT_TRUE(Ok(container));
  BlockCache cache(kEach * 3 / 2);
  const Namespace files({.container = *container, .stats = StatsFile()});
  const Inode views = *Walk(files, "views");
  std::vector<OpenFile> open;
  const int64_t before = HeapBytes();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < kCount; ++i) {
      const auto directory =
          files.Lookup(views, std::to_string(i) + ".shard~dir", cache);
      ASSERT_TRUE(Ok(directory) && *directory);
      const auto found = files.Lookup((*directory)->inode, "x", cache);
      ASSERT_TRUE(Ok(found) && *found);
      Result<OpenFile> file = files.Open((*found)->inode, cache);
      ASSERT_TRUE(Ok(file));
      Buffer byte(1);
      ASSERT_TRUE(Ok(ReadInto(file->content, kEach - 1, byte.span(), cache)));
      open.push_back(std::move(*file));
    }
  }
  // The block that is kept, and a few megabytes that the others' memory is
  // kept in for reuse.
  EXPECT_LT(HeapBytes() - before, int64_t{2} * kEach);
  // The block that work has read last may be kept over the budget.
  EXPECT_LE(cache.stats().bytes, kEach * 3 / 2 + inner.size());
  EXPECT_LE(cache.stats().produced, 3U * 2 * kCount * inner.size());
}

TEST(InnerContainer, IsDecodedOnceForAllOfItsEntries) {
  ShardSpec spec{.entries = {Raw("pad", std::string(1 << 20, 'p'))},
                 .role = 16};
  for (int i = 0; i < 100; ++i) {
    spec.entries.push_back(ZstdEntry(std::to_string(i), Prose(900)));
  }
  const std::string inner = BuildShard(spec);
  const auto container = OpenContainer(
      std::make_shared<MemorySource>(
          BuildShard({.entries = {ZstdEntry("in.shard", inner)}, .role = 16})),
      {});
  ASSERT_TRUE(Ok(container));
  BlockCache cache(1000);
  const Namespace files({.container = *container, .stats = StatsFile()});
  const auto directory =
      files.Lookup(*Walk(files, "views"), "in.shard~dir", cache);
  ASSERT_TRUE(Ok(directory) && *directory);
  for (int i = 0; i < 100; ++i) {
    const auto found =
        files.Lookup((*directory)->inode, std::to_string(i), cache);
    ASSERT_TRUE(Ok(found) && *found);
    const auto file = files.Open((*found)->inode, cache);
    ASSERT_TRUE(Ok(file));
    EXPECT_EQ(*ReadAll(file->content, cache), Prose(900));
  }
  EXPECT_LE(cache.stats().produced, 2 * inner.size() + 100 * 900U);
}

}  // namespace
}  // namespace ctxfs
