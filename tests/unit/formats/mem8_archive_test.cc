// SPDX-License-Identifier: Apache-2.0
//
// archive.json of a MEM8 archive (docs/formats/mem8.md, section 7).
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/format.h"
#include "core/io/source.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::mem8 {
namespace {

void Put(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
}

/// An archive of empty members with these paths.
std::string Archive(const std::vector<std::string>& paths) {
  std::string bytes = "M8AR";
  Put(bytes, 0x0100, 2);
  Put(bytes, paths.size(), 2);
  bytes.resize(32);  // no total size, time and checksum
  for (const std::string& path : paths) {
    Put(bytes, path.size(), 2);
    bytes += path;
    Put(bytes, 0, 8);  // offset and size
  }
  return bytes;
}

/// The members of archive.json of such an archive.
Json MembersOf(const std::string& bytes) {
  const auto archive =
      OpenContainer(std::make_shared<const MemorySource>(bytes), OpenOptions());
  EXPECT_TRUE(Ok(archive));
  const ContainerTree tree(*archive);
  const std::optional<NodeId> node = Find(tree, "archive.json");
  EXPECT_TRUE(node.has_value());
  BlockCache cache(1 << 20);
  const Result<Content> content = tree.Open(*node, cache);
  EXPECT_TRUE(Ok(content));
  Json members = Json::parse(*ReadAll(*content, cache))["members"];
  for (const Json& member : members) {
    const auto shown = member["shown_as"].get<std::string>();
    if (member.contains("shown_as_hex")) continue;
    EXPECT_TRUE(Find(tree, shown).has_value()) << shown;
  }
  return members;
}

TEST(Mem8Archive, NamesThatAreNotUtf8AreHexToo) {
  const Json members = MembersOf(Archive({"a/\xFF\xFE", "b"}));
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0]["shown_as_hex"], "612ffffe");
  EXPECT_EQ(members[1]["shown_as"], "b");
  EXPECT_FALSE(members[1].contains("shown_as_hex"));
}

// Joined to the mount point, the stored name would leave the mount.
TEST(Mem8Archive, Item28_11_ShownAsIsThePathInTheTree) {
  const Json members =
      MembersOf(Archive({"../evil.mem8", "/etc/passwd", "a//./b", "a/b", ""}));
  ASSERT_EQ(members.size(), 5U);
  const std::vector<std::string> shown = {"%2E%2E/evil.mem8", "%/etc/passwd",
                                          "a/b", "a/b~2", "%~file"};
  for (size_t i = 0; i < shown.size(); ++i) {
    EXPECT_EQ(members[i]["shown_as"], shown[i]) << members[i]["path"];
  }
}

// Members that are containers are directories, and not entries.
TEST(Mem8Archive, Item28_11_ShownAsOfContainersIsTheirDirectory) {
  std::string bytes = Archive({"f", "../c.m8a", "../c.m8a", "g"});
  const std::string inner = Archive({});
  for (const size_t extent_at : {53U, 71U}) {
    std::string extent;
    Put(extent, bytes.size(), 4);
    Put(extent, inner.size(), 4);
    bytes.replace(extent_at, extent.size(), extent);
  }
  const Json members = MembersOf(bytes + inner);
  ASSERT_EQ(members.size(), 4U);
  EXPECT_EQ(members[0]["shown_as"], "f");
  EXPECT_EQ(members[1]["shown_as"], "%2E%2E/c.m8a");
  EXPECT_EQ(members[2]["shown_as"], "%2E%2E/c~2.m8a");
  EXPECT_EQ(members[3]["shown_as"], "g");
}

}  // namespace
}  // namespace ctxfs::mem8
