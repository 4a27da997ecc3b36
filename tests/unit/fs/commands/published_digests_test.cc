// SPDX-License-Identifier: Apache-2.0
#include "fs/commands/verify/published_digests.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/text/text.h"
#include "core/vfs/mirror/hub_names.h"
#include "fs/commands/verify/digest_manifest.h"

namespace ctxfs {
namespace {

const std::string kHex(64, 'a');
const std::string kGit(40, 'b');

/// "KIND HEX NAME SIZE" of each digest.
std::vector<std::string> DigestsIn(std::string_view text) {
  const Result<PublishedDigests> published = ParseDigests(text);
  if (!published) return {published.error().what};
  std::vector<std::string> all;
  for (const PublishedDigest& one : published->digests) {
    all.push_back((one.kind == PublishedKind::kSha256 ? "sha256 " : "git ") +
                  one.hex + " " + one.name + " " +
                  (one.size ? std::to_string(*one.size) : "-"));
  }
  return all;
}

using Lines = std::vector<std::string>;

TEST(ParseDigests, ReadsListsOfSha256sum) {
  EXPECT_EQ(DigestsIn(kHex + "  a\n# remark\n" + kHex + " *./b/../c\r\n"),
            (Lines{"sha256 " + kHex + " a -", "sha256 " + kHex + " c -"}));
  EXPECT_EQ(DigestsIn("\\" + kHex + "  a\\nb\\\\c\n"),
            (Lines{"sha256 " + kHex + " a\nb\\c -"}));
  EXPECT_EQ(DigestsIn("SHA256 (a (1).txt) = " + kHex),
            (Lines{"sha256 " + kHex + " a (1).txt -"}));
  EXPECT_EQ(DigestsIn(std::string(64, 'A')), (Lines{"sha256 " + kHex + "  -"}));
}

TEST(ParseDigests, ReadsPointersAndMetadata) {
  EXPECT_EQ(
      DigestsIn("version https://git-lfs.github.com/spec/v1\noid sha256:" +
                kHex + "\nsize 12\n"),
      (Lines{"sha256 " + kHex + "  12"}));
  EXPECT_EQ(DigestsIn(kGit + "\n" + kHex + "\n1.5\n"),
            (Lines{"sha256 " + kHex + "  -"}));
  EXPECT_EQ(DigestsIn(kGit + "\n" + kGit + "\n1.5\n"),
            (Lines{"git " + kGit + "  -"}));
}

TEST(ParseDigests, ReadsManifestsAndKnowsTheModel) {
  const auto published = ParseDigests(
      R"({"layers": [{"mediaType": "application/vnd.ollama.image.model",
           "digest": "sha256:)" +
      kHex + R"(", "size": 3}, {"digest": "sha512:0"}, 7]})");
  ASSERT_TRUE(published);
  ASSERT_EQ(published->digests.size(), 1U);
  EXPECT_TRUE(published->is_image && published->digests.front().is_model);
  EXPECT_FALSE(published->HasUnnamed());
  const auto index =
      ParseDigests(R"({"manifests": [{"digest": "sha256:)" + kHex +
                   R"("}, {"digest": "sha256:../../x"}]})");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->manifests, Lines{kHex});
}

TEST(ParseDigests, RefusesTheRest) {
  for (const std::string& text :
       {std::string(), std::string("text"), kHex.substr(1), kHex + "a",
        kHex + " a", std::string("{}"), std::string("{\"layers\": 3}"),
        std::string("{\"dsseEnvelope\": {}}"), kGit + "\nx\n"}) {
    EXPECT_FALSE(ParseDigests(text)) << text;
  }
}

TEST(DigestInPath, IsOfTheDirectoriesThatNameByDigests) {
  const auto digest = [](const std::string& path) {
    const auto found = DigestInPath(path);
    return found ? found->hex : "";
  };
  EXPECT_EQ(digest("sha256-" + kHex), kHex);
  EXPECT_EQ(digest("x/blobs/" + kHex), kHex);
  EXPECT_EQ(digest("x/blobs/" + kGit), kGit);
  EXPECT_EQ(digest("blobs/sha256/" + kHex), kHex);
  EXPECT_EQ(digest("objects/aa/aa/" + kHex), kHex);
  for (const std::string& path :
       {kHex, "x/" + kHex, "blobs/sha256/" + kGit, "sha256/" + kHex,
        "objects/ab/aa/" + kHex, "sha256-" + kGit, std::string("blobs/"),
        std::string(), "blobs/" + kHex + "/"}) {
    EXPECT_EQ(digest(path), "") << path;
  }
}

TEST(DigestManifest, FindsWhatIsMissing) {
  const std::string line = kHex + " 0123456789abcdef 3 ";
  const std::string text =
      "ctxfs-digest 1\n" + line + "b\n" + line + "a\n" + "files 2\n";
  Buffer bytes(text.size());
  std::ranges::copy(AsBytes(text), bytes.data());
  auto manifest = DigestManifest::Parse(std::move(bytes));
  ASSERT_TRUE(manifest);
  CheckReport report;
  report.digests.push_back({"a", kHex, "0123456789abcdef", 3});
  manifest->Compare("", report);
  EXPECT_TRUE(report.faults.empty() && report.as_in_manifest);
  manifest->AddMissing(report);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults.front().path, "b");
}

TEST(RepositoryOf, IsTheNameOfAFolderOfTheHubsCache) {
  EXPECT_EQ(RepositoryOf("models--org--name"), "org/name");
  EXPECT_EQ(RepositoryOf("models--gpt2"), "gpt2");
  EXPECT_EQ(RepositoryOf("datasets--org--name"), "datasets/org/name");
  for (const char* folder :
       {"models--", "models--a--", "models----b", "models--..--b",
        "models--a--b--c", "model--a--b", "models--a--..", "x", ""}) {
    EXPECT_EQ(RepositoryOf(folder), "") << folder;
  }
}

}  // namespace
}  // namespace ctxfs
