// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/commit_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/text/text.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

const std::string kBlobId(40, 'b');
const std::string kLfsDigest(64, 'a');

/// A list with one entry, whose members are `members`.
std::string ListOf(const std::string& members) {
  return R"({"format_version": 1, "files": {"a/b": {)" + members + "}}}";
}

TEST(ParseCommitTree, Item41_1_HasSizesAndDigests) {
  const auto tree = ParseCommitTree(
      R"({"files": {"a": {"size": 3, "blob_id": ")" + kBlobId +
      R"("}, "b/c": {"blob_id": ")" + kBlobId + R"(", "lfs_sha256": ")" +
      kLfsDigest + R"(", "lfs_size": 7, "xet_hash": ")" + std::string(64, 'e') +
      R"(", "size": 7, "more": [{"size": 1}]}}, "format_version": 1} )"
      "\n");
  ASSERT_TRUE(Ok(tree));
  ASSERT_EQ(tree->size(), 2U);
  EXPECT_EQ(tree->at("a").size, 3U);
  EXPECT_EQ(tree->at("a").digest->kind, PublishedKind::kGitSha1);
  EXPECT_EQ(tree->at("a").digest->hex, kBlobId);
  EXPECT_EQ(tree->at("b/c").size, 7U);
  EXPECT_EQ(tree->at("b/c").digest->kind, PublishedKind::kSha256);
  EXPECT_EQ(tree->at("b/c").digest->hex, kLfsDigest);
}

TEST(ParseCommitTree, Item41_1_AnEmptyListIsOne) {
  const auto tree = ParseCommitTree(R"({"format_version": 1, "files": {}})");
  ASSERT_TRUE(Ok(tree));
  EXPECT_TRUE(tree->empty());
}

TEST(ParseCommitTree, Item41_1_TheDigestOfAPointerIsNotThatOfTheFile) {
  const auto tree = ParseCommitTree(ListOf(
      R"("size": 1, "blob_id": ")" + kBlobId + R"(", "lfs_sha256": "short")"));
  ASSERT_TRUE(Ok(tree));
  EXPECT_FALSE(tree->at("a/b").digest);
  const auto null = ParseCommitTree(ListOf(
      R"("size": 1, "blob_id": ")" + kBlobId + R"(", "lfs_sha256": null)"));
  EXPECT_EQ(null->at("a/b").digest->hex, kBlobId);
}

TEST(ParseCommitTree, Item41_1_OtherTextIsIgnoredAsAWhole) {
  const std::string sound = R"("size": 1, "blob_id": ")" + kBlobId + "\"";
  ASSERT_TRUE(Ok(ParseCommitTree(ListOf(sound))));
  for (const std::string& text :
       {std::string(),
        std::string("{"),
        std::string("[]"),
        std::string("1"),
        ListOf(R"("size": 1)"),
        ListOf(R"("blob_id": "x")"),
        ListOf(""),
        ListOf(R"("size": "1", "blob_id": "x")"),
        ListOf(R"("size": -1, "blob_id": "x")"),
        ListOf(R"("size": 1.5, "blob_id": "x")"),
        ListOf(R"("size": true, "blob_id": "x")"),
        ListOf(R"("size": 1, "blob_id": 2)"),
        ListOf(sound) + "x",
        ListOf(sound).substr(0, ListOf(sound).size() - 1),
        std::string(R"({"format_version": 2, "files": {}})"),
        std::string(R"({"format_version": "1", "files": {}})"),
        std::string(R"({"format_version": 1.0, "files": {}})"),
        std::string(R"({"format_version": 1})"),
        std::string(R"({"files": {}})"),
        std::string(R"({"format_version": 1, "files": []})"),
        std::string(R"({"format_version": 1, "files": 7})"),
        std::string(R"({"format_version": 1, "files": {"a": 7}})"),
        std::string(R"({"format_version": 1, "files": {"a": []}})"),
        std::string(100'000, '[')}) {
    EXPECT_FALSE(ParseCommitTree(text)) << text.substr(0, 100);
  }
}

TEST(ParseCommitTree, Item41_1_PathsAreKeptAsTheyAre) {
  const auto tree = ParseCommitTree(
      R"({"format_version": 1, "files": {"../../etc/passwd": {"size": 1,)"
      R"( "blob_id": "x"}, "/a": {"size": 1, "blob_id": "x"}}})");
  ASSERT_TRUE(Ok(tree));
  EXPECT_TRUE(tree->contains("../../etc/passwd"));
  EXPECT_FALSE(tree->at("/a").digest);
}

}  // namespace
}  // namespace ctxfs
