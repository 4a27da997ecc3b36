// SPDX-License-Identifier: Apache-2.0
#include "fs/common/mount_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "fs/common/mount_stats.h"

namespace ctxfs {
namespace {

std::vector<MountEntry> ParseTable(const std::string& text) {
  std::istringstream lines(text);
  return ParseMountTable(lines);
}

TEST(MountTable, ReadsPointTypeAndSource) {
  const auto mounts = ParseTable(
      "36 35 98:0 / /mnt1 rw,noatime shared:1 master:2 - ext3 /dev/root rw\n"
      "40 36 0:50 / /mnt\\040x\\134y ro - fuse.ctxfs /a\\011b,c "
      "ro,user_id=0\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].point, "/mnt1");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].source, "/dev/root");
  EXPECT_EQ(mounts[1].point, "/mnt x\\y");
  EXPECT_EQ(mounts[1].type, kMountType);
  EXPECT_EQ(mounts[1].source, "/a\tb,c");
}

TEST(MountTable, LeavesOutOtherLines) {
  EXPECT_TRUE(ParseTable("").empty());
  EXPECT_TRUE(
      ParseTable("\n1 2 3\nno separator at all in this line\n").empty());
  const auto mounts = ParseTable("1 2 0:1 / /odd\\04 rw - tmpfs none rw\n");
  ASSERT_EQ(mounts.size(), 1U);
  EXPECT_EQ(mounts[0].point, "/odd\\04") << "not an escape";
}

TEST(MountTable, HasTheRoot) {
  bool root = false;
  for (const MountEntry& mount : MountTable()) root |= mount.point == "/";
  EXPECT_TRUE(root);
}

TEST(MountStats, AreWhatTheDaemonWrites) {
  const MountStats stats =
      MountStats::Parse("ctxfs_cache_bytes 42\n" + DaemonStats(7, 1000));
  EXPECT_EQ(stats.Find("daemon_pid"), 7U);
  EXPECT_EQ(stats.Find("cache_bytes"), 42U);
  EXPECT_EQ(stats.Find("cache_limit_bytes"), 1000U);
  EXPECT_EQ(stats.samples().size(), 3U) << "comments are none";
}

TEST(MountStats, OfOtherTextAreEmpty) {
  const MountStats stats = MountStats::Parse(
      "ctxfs_daemon_pid x\nctxfs_cache_bytes -1\n\nnothing\nother_bytes 1\n"
      "ctxfs_read_seconds_bucket{le=\"1\"} 3\nctxfs_read_seconds_sum 0.5\n");
  EXPECT_TRUE(stats.samples().empty());
  EXPECT_FALSE(stats.Find("daemon_pid"));
}

}  // namespace
}  // namespace ctxfs
