// SPDX-License-Identifier: Apache-2.0
//
// Archives that were cut: what is left of them, and what can be said of the
// rest (docs/formats/zip.md, section 10).
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/container/cut_file.h"
#include "core/container/format.h"
#include "core/content/block_cache.h"
#include "core/formats/zip/descriptor.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs::zip {
namespace {

Result<std::shared_ptr<const Container>> Salvage(std::string bytes) {
  return OpenContainer(std::make_shared<MemorySource>(std::move(bytes)),
                       {.salvage = true});
}

/// Members that are stored and compressed. `descriptor`: see ZipMember.
std::vector<ZipMember> Members(size_t descriptor) {
  std::vector<ZipMember> members = {{"stored", "PK\7\10 is not its end"},
                                    {"deflated", Prose(300), 8},
                                    {"empty", ""},
                                    {"last", "x"}};
  for (ZipMember& member : members) {
    if (!member.content.empty()) member.descriptor = descriptor;
    member.extra = Le(0xCAFE, 2) + Le(0, 2);  // the directory alone has it
  }
  return members;
}

/// Where the data of the first `count` members ends.
size_t EndOfMembers(const std::vector<ZipMember>& members, size_t count) {
  const std::string zip =
      BuildZip({members.begin(), members.begin() + static_cast<int>(count)});
  return LoadLe<uint32_t>(AsBytes(zip).data() + zip.size() - 6);
}

size_t WholeMembers(const std::vector<ZipMember>& members, size_t size) {
  size_t whole = 0;
  while (whole < members.size() && EndOfMembers(members, whole + 1) <= size) {
    ++whole;
  }
  return whole;
}

class ZipCut : public testing::TestWithParam<size_t> {};

TEST_P(ZipCut, Item28_5_EveryCutIsToldWithWhatIsWhole) {
  const std::vector<ZipMember> members = Members(GetParam());
  const std::string zip = BuildZip(members);
  const size_t directory = EndOfMembers(members, members.size());
  BlockCache cache(1 << 20);
  for (size_t size = 4; size < zip.size(); ++size) {
    const auto opened = Salvage(zip.substr(0, size));
    ASSERT_TRUE(Ok(opened)) << size;
    const std::optional<CutFile> cut = CutOf(**opened);
    ASSERT_TRUE(cut) << size;
    EXPECT_EQ(cut->whole, WholeMembers(members, size)) << size;
    EXPECT_EQ(cut->entries, cut->whole);  // nobody knows how many there were
    EXPECT_GT(cut->needs, size);
    EXPECT_LE(cut->needs, zip.size()) << size;
    EXPECT_EQ(cut->lost, size < directory + 46 ? "the central directory"
                                               : "the end record");
    for (uint32_t i = 0; i < cut->whole; ++i) {
      const Result<Content> content = OpenEntry(**opened, i);
      ASSERT_TRUE(Ok(content)) << size;
      EXPECT_EQ(*ReadAll(*content, cache), members[i].content);
    }
  }
  EXPECT_FALSE(CutOf(**Salvage(zip)));
}

INSTANTIATE_TEST_SUITE_P(Descriptors, ZipCut, testing::Values(0, 4, 8));

TEST(Zip, Item28_5_WhatIsDamagedAndNotCutIsNotCalledCut) {
  const std::vector<ZipMember> members = Members(0);
  std::string zip = BuildZip(members);
  zip.replace(zip.size() - 22, 22, 22, '\0');
  const auto zeroed = Salvage(zip);
  ASSERT_TRUE(Ok(zeroed));
  EXPECT_FALSE(CutOf(**zeroed));
  zip.replace(EndOfMembers(members, 2), 4, "none");
  const auto broken = Salvage(zip);
  ASSERT_TRUE(Ok(broken));
  EXPECT_FALSE(CutOf(**broken));
}

TEST(Zip, Item28_5_TheSearchForADescriptorCrossesItsPieces) {
  // The first ends 4 KiB behind the start, the second 8 KiB behind that.
  for (const size_t before : std::initializer_list<size_t>{
           0, 1, 4094, 4096, 12'280, 12'288, 3 << 20}) {
    for (const size_t width : {size_t{4}, size_t{8}}) {
      const std::string data = Noise(before);
      const MemorySource source("head" + data + Le(0x08074B50, 4) + Le(7, 4) +
                                Le(before, width) + Le(9, width) + "PK");
      const auto found = FindDescriptor(source, 4, LoneContext());
      ASSERT_TRUE(Ok(found));
      ASSERT_TRUE(*found) << before;
      EXPECT_EQ((*found)->crc, 7U);
      EXPECT_EQ((*found)->stored_size, before);
      EXPECT_EQ((*found)->size, 9U);
      EXPECT_EQ((*found)->end, source.size() - 2);
    }
  }
  const MemorySource none(std::string(3 << 20, 'P'));
  const auto nothing = FindDescriptor(none, 0, LoneContext());
  ASSERT_TRUE(Ok(nothing));
  EXPECT_FALSE(*nothing);
}

}  // namespace
}  // namespace ctxfs::zip
