// SPDX-License-Identifier: Apache-2.0
//
// Sparse members of tar (docs/formats/tar.md, section 13).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/tar_builder.h"
#include "tests/unit/testing/tar_files.h"

namespace ctxfs::tar {
namespace {

/// A header of type S with these positions; `more`: a block follows.
std::string SparseHeader(const std::vector<std::string>& fields, uint64_t size,
                         uint64_t real_size, bool more) {
  std::string header = TarBuilder().AddHeader("sp", 'S', size).bytes();
  for (size_t i = 0; i < fields.size(); ++i) {
    header.replace(386 + 12 * i, fields[i].size(), fields[i]);
  }
  header[482] = more ? 1 : 0;
  header.replace(483, 11, TarBuilder::Octal(real_size));
  unsigned sum = 0;
  header.replace(148, 8, 8, ' ');
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char text[8];
  std::snprintf(text, sizeof(text), "%06o", sum & 0xFFFFU);
  header.replace(148, 7, text, 7);
  return header;
}

TEST(TarSparse, Item28_11_SparseMembersOfGnu) {
  std::string more(512, '\0');
  more.replace(0, 11, TarBuilder::Octal(5));
  more.replace(12, 11, TarBuilder::Octal(2));
  TarBuilder builder;
  builder.AddBytes(SparseHeader({TarBuilder::Octal(1), TarBuilder::Octal(2)}, 4,
                                9, /*more=*/true));
  builder.AddBytes(more).AddData("abcd").Add("next", "x");
  builder.AddHeader("hard", '1', 0, "sp").AddZeros();
  const auto tar = Open(builder);
  ASSERT_TRUE(Ok(tar));
  const std::string bytes("\0ab\0\0cd\0\0", 9);
  EXPECT_EQ(ReadPath(*tar, "sp"), bytes);
  EXPECT_EQ(ReadPath(*tar, "hard"), bytes);
  EXPECT_EQ(ReadPath(*tar, "next"), "x");
  EXPECT_EQ(EntrySize(**tar, 0), 9U);
  EXPECT_EQ(DescribeEntry(**tar, 0).stored_size, 4U);
  EXPECT_EQ(WarningsOf(**tar), "[]");
  const Json info = (*tar)->Info(LoneContext());
  EXPECT_EQ(info["decoded_size"], 10);
  EXPECT_EQ(info["stored_size"], 5);
  // Positions that never end do not read past the file.
  more[504] = 1;
  EXPECT_TRUE(Fails(Open(TarBuilder()
                             .AddBytes(SparseHeader({}, 4, 9, /*more=*/true))
                             .AddBytes(more)),
                    Code::kCorrupt));
}

/// Opens an archive of a sparse member of pax with these records and data.
Result<std::shared_ptr<const Container>> OpenSparse(
    const std::vector<std::pair<std::string, std::string>>& records,
    std::string_view data) {
  std::string pax;
  for (const auto& [key, value] : records) {
    pax += TarBuilder::PaxRecord("GNU.sparse." + key, value);
  }
  return Open(TarBuilder().Add("p", pax, 'x').Add("sp", data).AddZeros());
}

std::string SparseBytes(
    const std::vector<std::pair<std::string, std::string>>& records,
    std::string_view data) {
  const auto tar = OpenSparse(records, data);
  if (!tar) return "error: " + tar.error().what;
  return ReadPath(*tar, FilesIn(*tar)[0]);
}

TEST(TarSparse, Item28_11_SparseMembersOfPax) {
  const std::string bytes("ab\0\0cd\0", 7);
  EXPECT_EQ(SparseBytes({{"size", "7"},
                         {"numblocks", "2"},
                         {"offset", "0"},
                         {"numbytes", "2"},
                         {"offset", "4"},
                         {"numbytes", "2"}},
                        "abcd"),
            bytes);
  EXPECT_EQ(SparseBytes({{"size", "7"}, {"map", "0,2,4,2"}}, "abcd"), bytes);
  const std::string map = "2\n0\n2\n4\n2\n";
  EXPECT_EQ(SparseBytes({{"major", "1"}, {"minor", "0"}, {"realsize", "7"}},
                        map + std::string(512 - map.size(), '\0') + "abcd"),
            bytes);
  EXPECT_EQ(SparseBytes({{"size", "3"}}, ""), std::string(3, '\0'));
}

TEST(TarSparse, Item28_11_MapsThatAreWrongAreFaultsOfTheirMembers) {
  const auto fault = [](const std::string& size, const std::string& map) {
    return SparseBytes({{"size", size}, {"map", map}}, "abcd");
  };
  EXPECT_NE(fault("9", "4,2,0,2").find("not in order"), std::string::npos);
  EXPECT_NE(fault("9", "0,2,1,2").find("overlap"), std::string::npos);
  EXPECT_NE(fault("3", "0,4").find("past its end at 3"), std::string::npos);
  EXPECT_NE(fault("9", "0,5").find("more than the 4 bytes"), std::string::npos);
  EXPECT_NE(fault("9", "0,2,4").find("no size"), std::string::npos);
  EXPECT_NE(fault("9", "0,x").find("decimal"), std::string::npos);
  EXPECT_NE(fault("x", "0,4").find("no size of it"), std::string::npos);
  EXPECT_NE(fault("4611686018427387904", "0,4").find("holes"),
            std::string::npos);
  const auto one = [](std::string_view data) {
    return SparseBytes({{"major", "1"}, {"minor", "0"}, {"realsize", "7"}},
                       data);
  };
  EXPECT_NE(one("2\n0\n2\n").find("does not end"), std::string::npos);
  EXPECT_NE(one("1000001\n").find("limit of 1000000"), std::string::npos);
  EXPECT_NE(one(std::string(600, '1')).find("lines"), std::string::npos);
  const auto tar = OpenSparse({{"size", "3"}, {"map", "0,4"}}, "abcd");
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(EntrySize(**tar, 0), 0U);
  EXPECT_NE(WarningsOf(**tar).find("sparse: "), std::string::npos);
}

TEST(TarSparse, Item28_11_HolesOfAllMembersHaveOneLimit) {
  TarBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    builder.AddPax("GNU.sparse.size", std::to_string(30 * limits::kGiB));
    builder.Add(name, "");
  }
  const auto tar = Open(builder.AddZeros());
  ASSERT_TRUE(Ok(tar));
  EXPECT_EQ(EntrySize(**tar, 0), 30 * limits::kGiB);
  EXPECT_EQ(EntrySize(**tar, 1), 30 * limits::kGiB);
  EXPECT_EQ(EntrySize(**tar, 2), 0U);
}

}  // namespace
}  // namespace ctxfs::tar
