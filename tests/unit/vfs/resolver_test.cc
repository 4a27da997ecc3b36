// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/resolver.h"

#include <gtest/gtest.h>

#include <string_view>

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
  const auto root = resolver.Layers(kRootInode, false, TheCache());
  ASSERT_TRUE(Ok(root));
  ASSERT_EQ(root->size(), 2U) << "mirrored files, and the mount's own";
  const Place& mirrored = root->front();
  const Place& own = root->back();
  EXPECT_NE(mirrored.source, own.source);

  const Inode stats = InodeIn(own, ".ctxfs");
  EXPECT_EQ(resolver.Find(stats, TheCache())->source, own.source);
  const Inode plain = InodeIn(mirrored, "plain");
  EXPECT_EQ(resolver.Find(plain, TheCache())->source, mirrored.source);

  // The directory of a container is the mirror's; what is in it is not.
  const Inode shard = InodeIn(mirrored, "c.shard");
  EXPECT_EQ(resolver.Find(shard, TheCache())->source, mirrored.source);
  const auto inside = resolver.Layers(shard, false, TheCache());
  ASSERT_TRUE(Ok(inside));
  ASSERT_EQ(inside->size(), 1U);
  const Place& container = inside->front();
  ASSERT_NE(container.tree, nullptr);
  EXPECT_EQ(container.tree->at, shard);
  const Inode directory = InodeIn(container, "d");
  const auto found = resolver.Find(directory, TheCache());
  ASSERT_TRUE(Ok(found));
  EXPECT_EQ(found->source, container.source);
  EXPECT_EQ(found->source->Parent(found->node), shard);
  EXPECT_EQ(resolver.Path(InodeIn(*found, "a"), TheCache()), "c.shard/d/a");

  resolver.Forget(shard, UINT64_MAX);
  EXPECT_TRUE(Fails(resolver.Find(directory, TheCache()), Code::kStale))
      << "it was detached with its directory";
}

}  // namespace
}  // namespace ctxfs
