// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "core/codec/crypto/digest.h"
#include "core/tree/container_tree.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs::manifest {
namespace {

std::string Digest(const std::string& bytes) {
  Sha256 digest;
  digest.Update(AsBytes(bytes));
  return digest.Hex();
}

/// A manifest of the files in a directory of its own.
class ManifestTest : public testing::Test {
 protected:
  ManifestTest() { std::filesystem::create_directories(dir_.Path("in/sub")); }

  void Write(const std::string& name, const std::string& bytes) const {
    dir_.Write("in/" + name, bytes);
  }

  void Open(const Json& metadata, uint8_t role = shard::kManifestRole) {
    const std::string path =
        dir_.Write("in/list.manifest",
                   BuildShard({.role = role, .metadata = metadata.dump()}));
    auto container = OpenContainer(*FileSource::Open(path), OpenOptions());
    ASSERT_TRUE(Ok(container));
    container_ = *container;
    branch_ = std::make_unique<ContainerTree>(container_);
  }
  void OpenFiles(const Json& files) {
    Open({{"manifest", {{"files", files}}}});
  }

  Result<std::string> Read(const std::string& path) {
    const Result<Content> content =
        branch_->Open(*Find(*branch_, path), cache_);
    if (!content) return content.error();
    Result<std::string> bytes = ReadAll(*content, cache_);
    EXPECT_TRUE(!bytes || bytes->size() == content->size());
    return bytes;
  }
  Json Listing() { return Json::parse(*Read(".ctxfs/manifest.json")); }
  Json Verdicts() { return Json::parse(*Read(".ctxfs/sha256.json")); }

  const TempDir dir_;
  std::shared_ptr<const Container> container_;
  std::unique_ptr<ContainerTree> branch_;
  BlockCache cache_{1 << 20};
};

TEST_F(ManifestTest, FilesAreFilesAndContainersDirectories) {
  Write("a.txt", "plain");
  Write("sub/b.smpl", BuildShard({.entries = {Raw("0", "1")}, .role = 2}));
  OpenFiles(Json::array({{{"uri", "a.txt"}},
                         {{"uri", "file:sub/b.smpl"}},
                         {{"uri", "./a.txt"}}}));
  EXPECT_EQ(*Read("parts/a.txt"), "plain");
  ASSERT_TRUE(Find(*branch_, "parts/sub/b.smpl"));
  const auto part = branch_->NestedAt(*Find(*branch_, "parts/sub/b.smpl"));
  ASSERT_TRUE(part.has_value());
  const auto source = part->open_source(LoneContext());
  ASSERT_TRUE(Ok(source));
  EXPECT_TRUE(Ok(OpenContainer(*source, OpenOptions())));
  // Named twice, there once.
  EXPECT_FALSE(Find(*branch_, "parts/a~2.txt"));
  const Json listing = Listing();
  EXPECT_EQ(listing[0]["path"], "parts/a.txt");
  EXPECT_EQ(listing[0]["size"], 5);
  EXPECT_EQ(listing[1]["present"], true);
}

TEST_F(ManifestTest, NothingElsewhereIsTouched) {
  dir_.Write("outside", "secret");
  std::filesystem::create_symlink("../outside", dir_.Path("in/link"));
  const char* const elsewhere[] = {"s3://bucket/a",
                                   "http:a",
                                   "../outside",
                                   "sub/../../outside",
                                   "/etc/passwd",
                                   "file:///etc/passwd",
                                   "file://host/a",
                                   "link",
                                   "",
                                   ".",
                                   "sub",
                                   "no-such-file"};
  Json files = Json::array();
  for (const char* uri : elsewhere) files.push_back({{"uri", uri}});
  files.push_back(4);
  files.push_back({{"uri", 4}});
  files.push_back(Json::object());
  OpenFiles(files);
  EXPECT_FALSE(Find(*branch_, "parts"));
  const Json listing = Listing();
  ASSERT_EQ(listing.size(), files.size());
  for (const Json& shown : listing) {
    EXPECT_EQ(shown["present"], false) << shown;
    EXPECT_NE(shown["note"], "") << shown;
  }
  EXPECT_EQ(listing[0]["uri"], "s3://bucket/a");
}

TEST_F(ManifestTest, HashesAreComparedWhenSomeoneAsks) {
  Write("good", "good bytes");
  Write("bad", "other bytes");
  Write("none", "");
  std::string upper = Digest("good bytes");
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  OpenFiles(Json::array({{{"uri", "good"}, {"sha256", upper}},
                         {{"uri", "bad"}, {"sha256", Digest("good bytes")}},
                         {{"uri", "none"}},
                         {{"uri", "gone"}, {"sha256", upper}}}));
  const auto words = [](const Json& list) {
    std::string text;
    for (const Json& one : list) {
      text += one["verified"].get<std::string>() + " ";
    }
    return text;
  };
  EXPECT_EQ(words(Listing()), "no no none no ");
  EXPECT_EQ(words(Verdicts()), "yes failed none absent ");
  EXPECT_EQ(words(Listing()), "yes failed none no ");
  // What differs is readable nevertheless.
  EXPECT_EQ(*Read("parts/bad"), "other bytes");
}

TEST_F(ManifestTest, VerdictsHaveTheirAnnouncedSize) {
  Write("a", "1");
  OpenFiles(Json::array(
      {{{"uri", "a"}, {"sha256", "00"}}, {{"uri", "\"quoted\xC3\xA9\n"}}}));
  const Result<uint64_t> size =
      branch_->Size(*Find(*branch_, ".ctxfs/sha256.json"), cache_);
  EXPECT_EQ(Read(".ctxfs/sha256.json")->size(), *size);
}

/// What the cache counts for a file: its blocks, before they are made.
TEST_F(ManifestTest, VerdictsCostWhatTheirTextTakes) {
  Json files = Json::array();
  constexpr size_t kUri = 2 << 20;
  for (int i = 0; i < 2; ++i)
    files.push_back({{"uri", std::string(kUri, 'u')}});
  OpenFiles(files);
  Work little(2 * kUri, 0);
  const Result<Content> content =
      branch_->Open(*Find(*branch_, ".ctxfs/sha256.json"), cache_);
  ASSERT_TRUE(Ok(content));
  EXPECT_TRUE(
      Fails(ReadAll(*content, ReadContext(cache_).With(little)), Code::kLimit));
  Work enough(8 * kUri, 0);
  EXPECT_TRUE(Ok(ReadAll(*content, ReadContext(cache_).With(enough))));
}

TEST_F(ManifestTest, VerdictsOfManyAbsentFilesCanBeInterrupted) {
  Json files = Json::array();
  for (int i = 0; i < 1000; ++i) files.push_back({{"uri", "/elsewhere"}});
  OpenFiles(files);
  const Result<Content> content =
      branch_->Open(*Find(*branch_, ".ctxfs/sha256.json"), cache_);
  ASSERT_TRUE(Ok(content));
  for (const uint64_t answers : {100U, 1500U}) {
    const InterruptAfter soon(answers);
    EXPECT_TRUE(Fails(ReadAll(*content, ReadContext(cache_).With(soon)),
                      Code::kInterrupted));
  }
  EXPECT_EQ(Json::parse(*ReadAll(*content, cache_)).size(), 1000U);
}

TEST_F(ManifestTest, AListOfNothingHasNoVerdicts) {
  OpenFiles(Json::array());
  EXPECT_EQ(*Read(".ctxfs/sha256.json"), "[\n]\n");
}

TEST_F(ManifestTest, AFileThatChangesUnderTheMountIsStale) {
  Write("a", "12345");
  OpenFiles(Json::array({{{"uri", "a"}}}));
  Write("a", "123456");
  EXPECT_TRUE(Fails(Read("parts/a"), Code::kStale));
  std::filesystem::remove(dir_.Path("in/a"));
  EXPECT_TRUE(Fails(Read("parts/a"), Code::kNotFound));
}

TEST_F(ManifestTest, AManifestOfItselfIsAContainerInAContainer) {
  OpenFiles(Json::array({{{"uri", "list.manifest"}}}));
  EXPECT_TRUE(branch_->ShowsContainer(*Find(*branch_, "parts/list.manifest")));
}

TEST_F(ManifestTest, RefusesWhatIsNotAList) {
  for (const Json& metadata :
       {Json::array(), Json(4), Json::object(), Json{{"manifest", 4}}}) {
    Open(metadata);
    EXPECT_FALSE(Find(*branch_, ".ctxfs/manifest.json")) << metadata;
  }
  for (const Json& manifest :
       {Json::object(), Json{{"files", nullptr}}, Json{{"files", 4}}}) {
    Open({{"manifest", manifest}});
    EXPECT_EQ(Listing(), Json::array()) << manifest;
  }
}

TEST_F(ManifestTest, TooManyFilesAreNotLookedAt) {
  Json files = Json::array();
  for (int i = 0; i <= 100'000; ++i) files.push_back(i);
  OpenFiles(files);
  EXPECT_NE(
      container_->Info(LoneContext())["warnings"].dump().find("over the limit"),
      std::string::npos);
  EXPECT_EQ(Listing(), Json::array());
}

TEST_F(ManifestTest, OnlyTheRoleMakesAManifest) {
  Write("a", "1");
  Open({{"manifest", {{"files", Json::array({{{"uri", "a"}}})}}}}, 2);
  EXPECT_FALSE(Find(*branch_, "parts"));
}

}  // namespace
}  // namespace ctxfs::manifest
