// SPDX-License-Identifier: Apache-2.0
//
// Names and sizes of ZIP members that writers put differently into the local
// header and the directory (docs/formats/zip.md, sections 2, 5 and 9).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/formats/zip/names.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::zip {
namespace {

using ContainerPtr = std::shared_ptr<const Container>;

Result<ContainerPtr> OpenZip(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)), {});
}

/// The bytes of the file at `path`, or why they cannot be read.
std::string ReadPath(const ContainerPtr& container, std::string_view path) {
  const ContainerTree tree(container);
  BlockCache cache(limits::kMiB);
  for (NodeId node = 0; node < tree.tree().node_count(); ++node) {
    if (tree.IsDirectory(node) || tree.Path(node) != path) continue;
    const Result<Content> content = tree.Open(node, cache);
    if (!content) return "error: " + content.error().what;
    const Result<std::string> bytes = ReadAll(*content, cache);
    return bytes ? *bytes : "error: " + bytes.error().what;
  }
  return "error: no such file";
}

std::string Replaced(std::string text, std::string_view from,
                     std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

/// `zip` with the fields made-by and external attributes of all entries.
std::string MadeBy(std::string zip, unsigned system, uint32_t attributes) {
  for (size_t at = 0; (at = zip.find("PK\1\2", at)) != std::string::npos;
       at += 4) {
    zip[at + 5] = static_cast<char>(system);
    zip.replace(at + 38, 4, Le(attributes, 4));
  }
  return zip;
}

TEST(Zip, Item41_6_FormsOfOneName) {
  EXPECT_TRUE(AreFormsOfOneName("README", "readme"));
  EXPECT_TRUE(AreFormsOfOneName("dir\\a.txt", "dir/a.txt"));
  EXPECT_TRUE(AreFormsOfOneName("\x94.txt", "\xC3\xB6.txt"));
  EXPECT_TRUE(AreFormsOfOneName("a/?.txt", "a/\xC3\xB6.txt"));
  EXPECT_TRUE(AreFormsOfOneName("\x95\x5C.txt", "\xE8\xA1\xA8.txt"));
  EXPECT_FALSE(AreFormsOfOneName("a", "b"));
  EXPECT_FALSE(AreFormsOfOneName("f", "longer/name"));
  EXPECT_FALSE(AreFormsOfOneName("a.txt", "\xC3\xB6.txt"));
  EXPECT_FALSE(AreFormsOfOneName("", "a"));
}

TEST(Zip, Item41_6_AShorterLocalNameHurtsNobody) {
  // One byte shorter in the local header, and no gap to the next member.
  std::string bytes =
      Replaced(BuildZip({{"\xC3\xB6.txt", "first"}, {"next", "second"}}),
               "\xC3\xB6.txt", "\x94.txt");
  bytes[26] = 5;
  for (size_t at = 0; (at = bytes.find("PK\1\2", at)) != std::string::npos;
       at += 4) {
    const bool second = bytes[at + 42] != 0;
    if (second) --bytes[at + 42];
  }
  --bytes[bytes.size() - 22 + 16];
  const auto zip = OpenZip(bytes);
  ASSERT_TRUE(Ok(zip));
  EXPECT_EQ((*zip)->warnings().size(), 0U);
  EXPECT_EQ(ReadPath(*zip, "\xC3\xB6.txt"), "first");
  EXPECT_EQ(ReadPath(*zip, "next"), "second");
  EXPECT_NE((*zip)->Info(LoneContext())["warnings"].dump().find(
                "local_name: the local headers of 1 member"),
            std::string::npos);
  EXPECT_EQ(DescribeEntry(**zip, 0).note,
            "its local header has another form of its name");
}

TEST(Zip, Item41_6_AnotherFormNeedsAChecksum) {
  ZipMember bad{"readme", "text"};
  bad.crc_error = 1;
  const auto damaged = OpenZip(Replaced(BuildZip({bad}), "readme", "README"));
  ASSERT_TRUE(Ok(damaged));
  EXPECT_TRUE(ReadPath(*damaged, "readme").starts_with("error: checksum"));
  const auto other =
      OpenZip(Replaced(BuildZip({{"readme", "text"}}), "readme", "secret"));
  ASSERT_TRUE(Ok(other));
  EXPECT_NE(ReadPath(*other, "readme").find("another name"), std::string::npos);
}

TEST(Zip, Item41_6_ALocatorInsideTheDirectoryIsNone) {
  const std::string tail = std::string("PK\6\7", 4) + std::string(16, '\1');
  const auto in_name = OpenZip(BuildZip({{"a", "A"}, {tail, "B"}}));
  ASSERT_TRUE(Ok(in_name));
  EXPECT_EQ(ReadPath(*in_name, tail), "B");
  ZipMember extra{"b", "B"};
  extra.extra = Le(0xCAFE, 2) + Le(tail.size(), 2) + tail;
  const auto in_extra = OpenZip(BuildZip({{"a", "A"}, extra}));
  ASSERT_TRUE(Ok(in_extra));
  EXPECT_EQ(ReadPath(*in_extra, "b"), "B");
  EXPECT_EQ((*in_extra)->Info(LoneContext())["zip64"], false);
}

TEST(Zip, Item41_6_BackslashesOfDosMakeFolders) {
  const std::string bytes =
      BuildZip({{"Data\\train\\a.txt", "A"}, {"Data/b.txt", "B"}});
  for (const unsigned system : {0U, 6U, 10U, 11U, 14U}) {
    const auto zip = OpenZip(MadeBy(bytes, system, 0x20));
    ASSERT_TRUE(Ok(zip));
    EXPECT_EQ(ReadPath(*zip, "Data/train/a.txt"), "A") << system;
  }
  const auto unix_zip = OpenZip(bytes);
  ASSERT_TRUE(Ok(unix_zip));
  EXPECT_EQ(ReadPath(*unix_zip, "Data\\train\\a.txt"), "A");
}

TEST(Zip, Item41_6_BackslashesWithinCharactersMakeNoFolders) {
  // In code page 932 the second byte of a character may be a backslash.
  const auto shown = [](std::string_view stored, bool utf8) {
    return ShownName(stored, {.utf8 = utf8, .backslashes = true}, {});
  };
  EXPECT_EQ(shown("\x95\\/\x95\\.txt", false), "\u00F2\\/\u00F2\\.txt");
  EXPECT_EQ(shown("a/b\\c", false), "a/b/c");
  EXPECT_EQ(shown("\x84\\c", false), "\u00E4/c") << "no other separator";
  EXPECT_EQ(shown("\u00E4\\b/c", true), "\u00E4/b/c");
}

TEST(Zip, Item41_6_AttributesMakeDirectories) {
  for (const std::string& one :
       {MadeBy(BuildZip({{"d", ""}}), 0, 0x10),
        MadeBy(BuildZip({{"d", ""}}), 3, 040755U << 16),
        MadeBy(BuildZip({{"d\\", ""}}), 0, 0)}) {
    const auto zip = OpenZip(one);
    ASSERT_TRUE(Ok(zip));
    const ContainerTree tree(*zip);
    const auto found = tree.Lookup(ContainerTree::kRoot, "d");
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(tree.IsDirectory(*found));
  }
  const auto file = OpenZip(MadeBy(BuildZip({{"f", "x"}}), 0, 0x10));
  ASSERT_TRUE(Ok(file));
  EXPECT_EQ(ReadPath(*file, "f"), "x") << "it has data";
}

TEST(Zip, Item41_6_ASizeOfAllOnesWithoutZip64) {
  ZipMember zeros{"zeros", std::string(5'000'000, '\0'), 8};
  zeros.size_error = 0xFFFFFFFF - 5'000'000U;
  const std::string bytes = BuildZip({zeros, {"a", "A"}});
  const auto zip = OpenZip(bytes);
  ASSERT_TRUE(Ok(zip));
  // Its data is too short for that size, which is no lack of a zip64 field.
  EXPECT_EQ(ReadPath(*zip, "a"), "A");
  const std::string warnings = (*zip)->Info(LoneContext())["warnings"].dump();
  EXPECT_EQ(warnings.find("zip64"), std::string::npos) << warnings;
  zeros.extra = Le(1, 2) + Le(0, 2);
  const auto lacks = OpenZip(BuildZip({zeros}));
  ASSERT_TRUE(Ok(lacks));
  EXPECT_NE((*lacks)->Info(LoneContext())["warnings"].dump().find("zip64"),
            std::string::npos);
}

}  // namespace
}  // namespace ctxfs::zip
