// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/resolver.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/vfs/containers/open_container.h"
#include "core/vfs/containers/renewal.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

using Place = Resolver::Place;

Inode InodeIn(const Place& place, std::string_view name) {
  const auto found = place.source->Lookup(place.node, name, TheCache());
  EXPECT_TRUE(found && *found) << name;
  return found && *found ? (*found)->inode : 0;
}

TEST(Resolver, Item29_1_FindsTheSourceAndTheNodeOfAnInode) {
  const TempDir dir;
  dir.Write("c.shard", BuildShard({{Raw("d/a", "hello")}}));
  dir.Write("plain", "text");
  const Resolver resolver(
      {.mirror = MirrorOf(dir.Path("")), .stats = StatsFile()});
  const auto root =
      resolver.Layers(resolver.Decode(kRootInode), false, TheCache());
  ASSERT_TRUE(Ok(root));
  ASSERT_EQ(root->size(), 2U) << "mirrored files, and the mount's own";
  const Place& mirrored = root->front();
  const Place& own = root->back();
  EXPECT_NE(mirrored.source, own.source);

  const Inode stats = InodeIn(own, ".ctxfs");
  EXPECT_EQ(resolver.Find(resolver.Decode(stats), TheCache())->source,
            own.source);
  const Inode plain = InodeIn(mirrored, "plain");
  EXPECT_EQ(resolver.Find(resolver.Decode(plain), TheCache())->source,
            mirrored.source);

  // The directory of a container is the mirror's; what is in it is not.
  const Inode shard = InodeIn(mirrored, "c.shard");
  EXPECT_EQ(resolver.Find(resolver.Decode(shard), TheCache())->source,
            mirrored.source);
  const auto inside =
      resolver.Layers(resolver.Decode(shard), false, TheCache());
  ASSERT_TRUE(Ok(inside));
  ASSERT_EQ(inside->size(), 1U);
  const Place& container = inside->front();
  ASSERT_NE(container.tree, nullptr);
  EXPECT_EQ(container.tree->at, shard);
  const Inode directory = InodeIn(container, "d");
  const auto found = resolver.Find(resolver.Decode(directory), TheCache());
  ASSERT_TRUE(Ok(found));
  EXPECT_EQ(found->source, container.source);
  EXPECT_EQ(found->source->Parent(found->node), shard);
  EXPECT_EQ(resolver.Path(resolver.Decode(InodeIn(*found, "a")), TheCache()),
            "c.shard/d/a");

  resolver.Forget(resolver.Decode(shard), UINT64_MAX);
  EXPECT_TRUE(Fails(resolver.Find(resolver.Decode(directory), TheCache()),
                    Code::kStale))
      << "it was detached with its directory";
}

TEST(Resolver, Item42_3_DecodesEachKindOfInode) {
  const TempDir dir;
  dir.Write("c.shard", BuildShard({{Raw("a", "hello")}}));
  const Resolver mirror(
      {.mirror = MirrorOf(dir.Path("")), .stats = StatsFile()});
  const InodeRef root = mirror.Decode(kRootInode);
  EXPECT_EQ(root.kind, InodeRef::Kind::kMirrored);
  const auto layers = mirror.Layers(root, false, TheCache());
  ASSERT_TRUE(Ok(layers));
  const InodeRef own = mirror.Decode(InodeIn(layers->back(), ".ctxfs"));
  EXPECT_EQ(own.kind, InodeRef::Kind::kOwn);
  const InodeRef shard = mirror.Decode(InodeIn(layers->front(), "c.shard"));
  EXPECT_EQ(shard.kind, InodeRef::Kind::kMirrored);
  const auto inside = mirror.Layers(shard, false, TheCache());
  ASSERT_TRUE(Ok(inside));
  const Place& container = inside->front();
  const InodeRef a = mirror.Decode(InodeIn(container, "a"));
  EXPECT_EQ(a.kind, InodeRef::Kind::kTree);
  EXPECT_EQ(a.number, container.tree->number);
  EXPECT_EQ(container.tree->InodeOf(static_cast<NodeId>(a.node)), a.inode);
}

TEST(Resolver, Item42_3_TheOnlyContainerHasInodesBehindTheMountsOwn) {
  const TempDir dir;
  auto opened = OpenContainerFile(
      dir.Write("top", BuildShard({{Raw("a", "hello")}})), OpenOptions());
  ASSERT_TRUE(Ok(opened));
  for (const char* name : {"", "c"}) {
    const Resolver resolver(
        {.container = *opened, .name = name, .stats = StatsFile()});
    const MountedContainers::Tree top = resolver.Top();
    const InodeRef root = resolver.Decode(top->at);
    EXPECT_EQ(root.kind, InodeRef::Kind::kTree);
    EXPECT_EQ(root.number, MountedContainers::kTop);
    EXPECT_EQ(root.node, FileTree::kRoot);
    const auto a = top->files->Lookup(FileTree::kRoot, "a");
    ASSERT_TRUE(a);
    const InodeRef decoded = resolver.Decode(top->InodeOf(*a));
    EXPECT_EQ(decoded.kind, InodeRef::Kind::kTree);
    EXPECT_EQ(decoded.node, *a);
  }
}

TEST(Resolver, Item41_17_UsesWhatEachRenewalOpens) {
  const TempDir dir;
  const std::string path = dir.Write("top", BuildShard({{Raw("a", "hello")}}));
  OpenOptions watching;
  watching.watch_ctime = true;
  auto container = OpenContainerFile(path, watching);
  ASSERT_TRUE(Ok(container));
  int opened = 0;
  const Resolver resolver(
      {.container = *container, .open = watching, .extras = [&](const auto&) {
         ++opened;
         return std::vector<ChildContainer>();
       }});
  const auto root =
      resolver.Layers(resolver.Decode(kRootInode), false, TheCache());
  ASSERT_TRUE(Ok(root));
  const Inode a = InodeIn(root->back(), "a");
  std::set<const TreeSource*> used;
  std::vector<Place> places;
  const int before = opened;
  const auto outcome = resolver.At(
      resolver.Decode(a), TheCache(), [&](Place place) -> Result<int> {
        used.insert(place.source.get());
        places.push_back(std::move(place));
        return Error{Code::kStale, "a file that it names has changed"};
      });
  EXPECT_TRUE(Fails(outcome, Code::kStale));
  EXPECT_EQ(opened - before, Renewal::kMax);
  EXPECT_EQ(used.size(), places.size()) << "none is tried twice";
  EXPECT_EQ(places.size(), 1U + Renewal::kMax) << "none is opened in vain";
  // For a moment, it is not opened again.
  const auto again = resolver.At(resolver.Decode(a), TheCache(),
                                 [&](const Place&) -> Result<int> {
                                   return Error{Code::kStale, "still"};
                                 });
  EXPECT_TRUE(Fails(again, Code::kStale));
  EXPECT_EQ(opened - before, Renewal::kMax);
}

}  // namespace
}  // namespace ctxfs
