// SPDX-License-Identifier: Apache-2.0
//
// archive.json of a MEM8 archive (docs/mem8.md, section 7).
#include <gtest/gtest.h>

#include <string>

#include "core/container/format.h"
#include "core/io/source.h"
#include "tests/unit/testing/files.h"
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

TEST(Mem8Archive, NamesThatAreNotUtf8AreHexToo) {
  const auto archive = OpenContainer(
      std::make_shared<const MemorySource>(Archive({"a/\xFF\xFE", "b"})),
      OpenOptions());
  ASSERT_TRUE(Ok(archive));
  const auto file = FindFile(**archive, "archive.json");
  ASSERT_TRUE(file);
  BlockCache cache(1 << 20);
  const Json members =
      Json::parse(*ReadAll(*file->Open(cache), cache))["members"];
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[0]["shown_as_hex"], "612ffffe");
  EXPECT_EQ(members[1]["shown_as"], "b");
  EXPECT_FALSE(members[1].contains("shown_as_hex"));
}

}  // namespace
}  // namespace ctxfs::mem8
