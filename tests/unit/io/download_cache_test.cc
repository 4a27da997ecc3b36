// SPDX-License-Identifier: Apache-2.0
#include "core/io/download_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/io/digesting_source.h"
#include "core/io/source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

TEST(BlobOf, Item28_13_IsWhereALinkOfASnapshotMayLead) {
  EXPECT_EQ(BlobOf("/c/m/snapshots/0f", "../../blobs/ab"), "/c/m/blobs/ab");
  EXPECT_EQ(BlobOf("/c/m/snapshots/0f/onnx", "../../../blobs/ab"),
            "/c/m/blobs/ab");
  EXPECT_EQ(BlobOf("/c/snapshots/1/m/snapshots/0f", "../../blobs/ab"),
            "/c/snapshots/1/m/blobs/ab");
  EXPECT_EQ(BlobOf("/c/m/snapshots/0f/snapshots/b", "../../../../blobs/ab"),
            "/c/m/blobs/ab")
      << "a folder of the repository may be called so, too";
}

TEST(BlobOf, Item28_13_IsNothingForOtherLinks) {
  const std::string in = "/c/m/snapshots/0f";
  for (const char* target : {"/etc/shadow",
                             "/c/m/blobs/ab",
                             "../../../other/blobs/ab",
                             "../../blobs",
                             "../../blobs/",
                             "../../blobs/.",
                             "../../blobs/..",
                             "../../blobs/a/b",
                             "../../blobs//ab",
                             "../../blobs/../refs/main",
                             "../blobs/ab",
                             "../../../blobs/ab",
                             "../../../../../../blobs/ab",
                             "./../../blobs/ab",
                             "../x/../../blobs/ab",
                             "../..//blobs/ab",
                             "../../refs/main",
                             "blobs/ab",
                             "ab",
                             "..",
                             ""}) {
    EXPECT_EQ(BlobOf(in, target), std::nullopt) << target;
  }
  for (const char* directory :
       {"/c/m/snapshots", "/c/m/other/0f", "/c/m/snapshots2/0f",
        "/c/m/mysnapshots/0f", "/snapshots/0f", "/", ""}) {
    EXPECT_EQ(BlobOf(directory, "../../blobs/ab"), std::nullopt) << directory;
  }
}

TEST(TreesBeside, Item41_1_NamesThemForAllOfARepository) {
  using Trees = std::vector<std::string>;
  EXPECT_EQ(TreesBeside("/c/m/snapshots/0f/a"),
            (Trees{"/c/m/blobs", "/c/m/trees"}));
  EXPECT_EQ(TreesBeside("/c/m/snapshots"), (Trees{"/c/m/blobs", "/c/m/trees"}));
  const Trees shared = {"/c/models--m/blobs", "/c/models--m/trees", "/c/blobs"};
  EXPECT_EQ(TreesBeside("/c/models--m/snapshots/0f"), shared);
  EXPECT_EQ(TreesBeside("/c/models--m"), shared);
  EXPECT_EQ(TreesBeside("/a/snapshots/b/snapshots/c"),
            (Trees{"/a/snapshots/b/blobs", "/a/snapshots/b/trees", "/a/blobs",
                   "/a/trees"}));
  EXPECT_EQ(TreesBeside("/c/m"), Trees());
  EXPECT_EQ(TreesBeside("/snapshots/0f"), Trees());
}

TEST(IsRepositoryFolder, Item41_1_IsATypeAndAName) {
  for (const char* name :
       {"models--a", "datasets--a--b", "spaces--a--b", "kernels--a--b"}) {
    EXPECT_TRUE(IsRepositoryFolder(name)) << name;
  }
  for (const char* name : {"models--", "models-a", "model--a", "Models--a",
                           "kernels", "blobs", "xmodels--a", ""}) {
    EXPECT_FALSE(IsRepositoryFolder(name)) << name;
  }
}

const std::string kEtag(64, 'a');
const std::string kHash = "f0" + std::string(62, '1');

TEST(StoreEntryOf, Item41_1_IsWhereALinkOfABlobMayLead) {
  const std::string text = "../../blobs/f0/" + kHash;
  EXPECT_EQ(StoreEntryOf("/c/models--m/blobs/" + kEtag, text),
            "/c/blobs/f0/" + kHash);
  EXPECT_EQ(StoreEntryOf("/kernels--o--m/blobs/" + std::string(40, '0'), text),
            "/blobs/f0/" + kHash);
}

TEST(StoreEntryOf, Item41_1_IsNothingForOtherLinks) {
  const std::string blob = "/c/models--m/blobs/" + kEtag;
  for (const std::string& target :
       std::vector<std::string>{"/c/blobs/f0/" + kHash,
                                "./../../blobs/f0/" + kHash,
                                "../../blobs/f1/" + kHash,
                                "../../blobs/f0/" + kHash + ".refs",
                                "../../blobs/f0/" + kHash + "/",
                                "../../blobs//f0/" + kHash,
                                "../../blobs/f0//" + kHash,
                                "../../blobs/f0/./" + kHash,
                                "../../blobs/" + kHash,
                                "../../../blobs/f0/" + kHash,
                                "../blobs/f0/" + kHash,
                                "../../blobs/F0/F0" + std::string(62, '1'),
                                "../../blobs/f0/" + kHash.substr(1),
                                "../../blobs/f0/" + kHash + "1",
                                "../../blobs/../blobs/f0/" + kHash,
                                "../../blobs/f/" + kHash,
                                "../../models--n/blobs/" + kEtag,
                                kEtag,
                                std::string("../../blobs/f0"),
                                std::string("../../blobs/f0/"),
                                std::string("../../blobs/"),
                                std::string()}) {
    EXPECT_EQ(StoreEntryOf(blob, target), std::nullopt) << target;
  }
  const std::string lawful = "../../blobs/f0/" + kHash;
  for (const std::string& other : std::vector<std::string>{
           "/c/m/blobs/" + kEtag, "/c/models--m/blob/" + kEtag,
           "/c/models--m/blobs/x/" + kEtag, "/c/models--m/blobs/" + kHash + "0",
           "/c/models--m/blobs/" + std::string(40, 'A'),
           "/c/models--m/blobs/." + kEtag + ".0a1b2c3d.shared",
           "models--m/blobs/", std::string("/c/models--m/blobs/name"),
           std::string()}) {
    EXPECT_EQ(StoreEntryOf(other, lawful), std::nullopt) << other;
  }
}

/// A repository whose index is a blob of its own and whose shard is in the
/// store of the cache.
class SharedStore : public testing::Test {
 protected:
  SharedStore() {
    fs::create_directories(dir_.Path("models--m/blobs"));
    fs::create_directories(dir_.Path("models--m/snapshots/0f"));
    fs::create_directories(dir_.Path("blobs/f0"));
    dir_.Write("models--m/blobs/" + kIndex, "index");
    dir_.Write("blobs/f0/" + kHash, "shard");
    dir_.Write("outside", "secret");
    Link(kToStore, blob_);
    Link("../../blobs/" + kIndex, "models--m/snapshots/0f/index");
    Link("../../blobs/" + kEtag, "models--m/snapshots/0f/shard");
  }

  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, dir_.Path(name));
  }
  void Relink(const std::string& target, const std::string& name) const {
    fs::remove(dir_.Path(name));
    Link(target, name);
  }
  Result<SourcePtr> Sibling(const std::string& of,
                            const std::string& name) const {
    const std::string path = dir_.Path("models--m/snapshots/0f/" + of);
    return (*FileSource::Open(path))->OpenSibling(name, Request());
  }
  static std::string TextOf(const Result<SourcePtr>& source) {
    if (!source) return source.error().Text();
    std::string text((*source)->size(), '\0');
    EXPECT_TRUE(Ok((*source)->ReadAt(0, std::as_writable_bytes(std::span(text)),
                                     Request())));
    return text;
  }

  const std::string kIndex = std::string(40, 'b');
  const std::string kToStore = "../../blobs/f0/" + kHash;
  const std::string blob_ = "models--m/blobs/" + kEtag;
  const TempDir dir_;
};

TEST_F(SharedStore, Item41_1_FilesOfBothPlacesAreSiblings) {
  EXPECT_EQ(TextOf(Sibling("index", "shard")), "shard");
  EXPECT_EQ(TextOf(Sibling("shard", "index")), "index");
  EXPECT_EQ(TextOf(Sibling("shard", "shard")), "shard");
  EXPECT_EQ((*Sibling("index", "shard"))->name(), "shard");
  EXPECT_EQ(StoredAt(fs::canonical(dir_.Path("models--m")).string() +
                     "/blobs/" + kEtag),
            fs::canonical(dir_.Path("blobs/f0/" + kHash)).string());
}

TEST_F(SharedStore, Item41_1_NoOtherLinkLeadsToAFile) {
  const std::string other = "blobs/f0/f0" + std::string(62, '2');
  Link("../../outside", other);
  for (const std::string& target : std::vector<std::string>{
           dir_.Path("blobs/f0/" + kHash), "../../" + other,
           std::string("../../outside"), "../" + blob_, kIndex, kEtag,
           "../../blobs/f0/" + kHash + ".refs"}) {
    Relink(target, blob_);
    const Result<SourcePtr> opened = Sibling("index", "shard");
    ASSERT_FALSE(opened) << target;
    EXPECT_EQ(opened.error().what, "leads out of the directory") << target;
  }
  Relink(kToStore, blob_);
  Link("../../../blobs/f0/" + kHash, "models--m/snapshots/0f/direct");
  EXPECT_TRUE(Fails(Sibling("index", "direct"), Code::kCorrupt));
}

TEST_F(SharedStore, Item41_1_NoDirectoryOnTheWayIsALink) {
  for (const char* folder : {"blobs/f0", "blobs"}) {
    fs::rename(dir_.Path(folder), dir_.Path("moved"));
    fs::create_symlink(dir_.Path("moved"), dir_.Path(folder));
    EXPECT_TRUE(Fails(Sibling("index", "shard"), Code::kCorrupt)) << folder;
    fs::remove(dir_.Path(folder));
    fs::rename(dir_.Path("moved"), dir_.Path(folder));
  }
  EXPECT_EQ(TextOf(Sibling("index", "shard")), "shard");
}

TEST_F(SharedStore, Item41_1_AMissingEntryIsNamed) {
  const std::string reason = "its blob is not in the store of the cache";
  const std::string shard = dir_.Path("models--m/snapshots/0f/shard");
  EXPECT_EQ(MissingFromStore(shard), std::nullopt);
  fs::remove(dir_.Path("blobs/f0/" + kHash));
  const Result<SourcePtr> missing = Sibling("index", "shard");
  EXPECT_TRUE(Fails(missing, Code::kNotFound));
  EXPECT_EQ(missing.error().what, reason);
  const auto alone = FileSource::Open(shard);
  EXPECT_TRUE(Fails(alone, Code::kIo));
  EXPECT_EQ(alone.error().what, reason);
  EXPECT_EQ(alone.error().sys_errno, ENOENT);
  fs::remove_all(dir_.Path("blobs"));
  EXPECT_EQ(Sibling("index", "shard").error().what, reason);
  fs::remove(dir_.Path(blob_));
  EXPECT_EQ(MissingFromStore(shard), std::nullopt) << "a blob of layout A";
}

// The text of the link is read once, and what was found is compared with it.
TEST_F(SharedStore, Item41_1_ALinkThatIsSwappedGivesNoOtherFile) {
  const SourcePtr index =
      *FileSource::Open(dir_.Path("models--m/snapshots/0f/index"));
  const std::string next = dir_.Path("next");
  std::atomic<bool> done = false;
  std::jthread swapper([&] {
    for (bool good = true; !done; good = !good) {
      fs::create_symlink(good ? kToStore : dir_.Path("outside"), next);
      fs::rename(next, dir_.Path(blob_));
    }
  });
  int opened = 0;
  for (int i = 0; i < 1'000 || (opened == 0 && i < 1'000'000); ++i) {
    const auto file = index->OpenSibling("shard", Request());
    if (!file) continue;
    ++opened;
    ASSERT_EQ(TextOf(file), "shard");
  }
  done = true;
  EXPECT_GT(opened, 0);
}

/// Two repositories of a cache, with the layout of huggingface_hub.
class DownloadCache : public testing::Test {
 protected:
  DownloadCache() {
    for (const char* repository : {"m", "other"}) {
      fs::create_directories(dir_.Path(repository) + "/blobs");
      fs::create_directories(dir_.Path(repository) + "/snapshots/0f/onnx");
      fs::create_directories(dir_.Path(repository) + "/snapshots/1e");
    }
    dir_.Write("m/blobs/a1", "index");
    dir_.Write("m/blobs/b2", "shard");
    dir_.Write("other/blobs/c3", "foreign");
    dir_.Write("outside", "secret");
    Link("../../blobs/a1", "m/snapshots/0f/index");
    Link("../../blobs/b2", "m/snapshots/0f/shard");
    Link("../../../blobs/a1", "m/snapshots/0f/onnx/model");
    Link("../../../blobs/b2", "m/snapshots/0f/onnx/data");
    Link("../../blobs/b2", "m/snapshots/1e/shard");
  }

  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, dir_.Path(name));
  }
  SourcePtr Open(const std::string& name,
                 const SourceOptions& options = {}) const {
    return *FileSource::Open(dir_.Path(name), options);
  }
  /// The index at its usual place.
  SourcePtr Index() const { return Open("m/snapshots/0f/index"); }

  static std::string TextOf(const Result<SourcePtr>& source) {
    if (!source) return source.error().Text();
    std::string text((*source)->size(), '\0');
    EXPECT_TRUE(Ok((*source)->ReadAt(0, std::as_writable_bytes(std::span(text)),
                                     Request())));
    return text;
  }

  const TempDir dir_;
};

TEST_F(DownloadCache, Item28_13_FilesOfASnapshotAreSiblings) {
  const auto shard = Index()->OpenSibling("shard", Request());
  EXPECT_EQ(TextOf(shard), "shard");
  EXPECT_EQ((*shard)->name(), "shard");
  EXPECT_EQ(TextOf((*shard)->OpenSibling("index", Request())), "index")
      << "it is in the snapshot, too";
  EXPECT_EQ(TextOf(Index()->OpenSibling("onnx/data", Request())), "shard");
  EXPECT_EQ(
      TextOf(Open("m/snapshots/0f/onnx/model")->OpenSibling("data", Request())),
      "shard");
  EXPECT_EQ(TextOf(DigestingSource(Index()).OpenSibling("shard", Request())),
            "shard");
  // By whichever way the directory was reached.
  Link("m/snapshots", "way");
  EXPECT_EQ(TextOf(Open("way/0f/index")->OpenSibling("shard", Request())),
            "shard");
  EXPECT_EQ(
      TextOf(
          Open("m/snapshots/1e/../0f/index")->OpenSibling("shard", Request())),
      "shard");
}

TEST_F(DownloadCache, Item28_13_ForEveryoneIfTheyMayReadBoth) {
  const SourceOptions everyone{.access = AccessScope::kEveryone};
  ASSERT_EQ(::chmod(dir_.Path("m/blobs/a1").c_str(), 0644), 0);
  ASSERT_EQ(::chmod(dir_.Path("m/blobs/b2").c_str(), 0644), 0);
  const SourcePtr index = Open("m/snapshots/0f/index", everyone);
  EXPECT_EQ(TextOf(index->OpenSibling("shard", Request())), "shard");
  ASSERT_EQ(::chmod(dir_.Path("m/blobs/b2").c_str(), 0600), 0);
  EXPECT_TRUE(Fails(index->OpenSibling("shard", Request()), Code::kIo));
}

TEST_F(DownloadCache, Item28_13_LinksToElsewhereAreRefused) {
  Link("/etc/shadow", "m/snapshots/0f/shadow");
  Link(dir_.Path("outside"), "m/snapshots/0f/away");
  Link("../../../other/blobs/c3", "m/snapshots/0f/foreign");
  Link("../../blobs", "m/snapshots/0f/directory");
  Link(dir_.Path("m/blobs/b2"), "m/snapshots/0f/absolute");
  Link("../1e/shard", "m/snapshots/0f/chain");
  Link("away", "m/snapshots/0f/inner");
  for (const char* name :
       {"shadow", "away", "foreign", "directory", "directory/b2", "absolute",
        "chain", "inner", "../1e/shard", "../../blobs/b2", "/etc/shadow"}) {
    EXPECT_TRUE(Fails(Index()->OpenSibling(name, Request()), Code::kCorrupt))
        << name;
  }
  EXPECT_TRUE(
      Fails(Index()->OpenSibling(dir_.Path("m/snapshots/0f/shard"), Request()),
            Code::kCorrupt));
}

TEST_F(DownloadCache, Item28_13_ABlobIsAFileAndNoLink) {
  Link(dir_.Path("outside"), "m/blobs/d4");
  Link("../../blobs/d4", "m/snapshots/0f/linked");
  EXPECT_FALSE(Index()->OpenSibling("linked", Request()));
  Link("b2", "m/blobs/e5");
  Link("../../blobs/e5", "m/snapshots/0f/within");
  EXPECT_FALSE(Index()->OpenSibling("within", Request()));
  ASSERT_EQ(::mkfifo(dir_.Path("m/blobs/f6").c_str(), 0600), 0);
  Link("../../blobs/f6", "m/snapshots/0f/fifo");
  EXPECT_TRUE(Fails(Index()->OpenSibling("fifo", Request()), Code::kIo));
  fs::create_directories(dir_.Path("m/blobs/a7"));
  Link("../../blobs/a7", "m/snapshots/0f/folder");
  EXPECT_TRUE(Fails(Index()->OpenSibling("folder", Request()), Code::kIo));
  Link("../../blobs/gone", "m/snapshots/0f/gone");
  EXPECT_TRUE(Fails(Index()->OpenSibling("gone", Request()), Code::kNotFound));
}

TEST_F(DownloadCache, Item28_13_BlobsIsADirectoryAndNoLink) {
  const SourcePtr index = Index();
  fs::rename(dir_.Path("m/blobs"), dir_.Path("m/moved"));
  Link("../other/blobs", "m/blobs");
  dir_.Write("other/blobs/b2", "foreign");
  EXPECT_FALSE(index->OpenSibling("shard", Request()));
  // A repository that is made of a link from the start.
  EXPECT_FALSE(Open("m/snapshots/1e/shard")->OpenSibling("shard2", Request()));
  Link("../../blobs/c3", "m/snapshots/1e/c3");
  EXPECT_FALSE(Open("m/snapshots/1e/shard")->OpenSibling("c3", Request()));
}

TEST_F(DownloadCache, Item28_13_OnlyForWhatWasOpenedBySuchALink) {
  dir_.Write("m/snapshots/0f/plain", "index");
  EXPECT_TRUE(
      Fails(Open("m/snapshots/0f/plain")->OpenSibling("shard", Request()),
            Code::kCorrupt))
      << "a file of the snapshot itself";
  Link(dir_.Path("outside"), "m/snapshots/0f/away");
  EXPECT_FALSE(Open("m/snapshots/0f/away")->OpenSibling("shard", Request()));
  Link("../../../other/blobs/c3", "m/snapshots/0f/foreign");
  EXPECT_FALSE(Open("m/snapshots/0f/foreign")->OpenSibling("shard", Request()));
  // A link that was made to lead to a blob after another file was opened by it.
  const SourcePtr away = Open("m/snapshots/0f/away");
  fs::remove(dir_.Path("m/snapshots/0f/away"));
  Link("../../blobs/a1", "m/snapshots/0f/away");
  EXPECT_FALSE(away->OpenSibling("shard", Request()));
}

// Without a moment between looking and opening in which a link counts: its text
// is read once, and what was found is compared with it.
TEST_F(DownloadCache, Item28_13_ALinkThatIsSwappedGivesNoOtherFile) {
  const SourcePtr index = Index();
  const std::string link = dir_.Path("m/snapshots/0f/swapped");
  const std::string next = dir_.Path("m/snapshots/0f/next");
  std::atomic<bool> done = false;
  std::jthread swapper([&] {
    for (bool good = true; !done; good = !good) {
      fs::create_symlink(good ? "../../blobs/b2" : dir_.Path("outside"), next);
      fs::rename(next, link);
    }
  });
  int opened = 0;
  // The link is good every other time, however late the thread starts.
  for (int i = 0; i < 2'000 || opened == 0; ++i) {
    const auto file = index->OpenSibling("swapped", Request());
    if (!file) continue;
    ++opened;
    ASSERT_EQ(TextOf(file), "shard");
  }
  done = true;
}

}  // namespace
}  // namespace ctxfs
