// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/io/source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

class OpenBeside : public testing::Test {
 protected:
  OpenBeside() {
    fs::create_directories(dir_.Path("in/sub"));
    dir_.Write("outside", "secret");
    dir_.Write("in/a", "0123");
    dir_.Write("in/sub/b", "45");
    source_ = *FileSource::Open(dir_.Write("in/manifest", "m"));
  }

  Result<std::shared_ptr<const Source>> Open(const std::string& path) const {
    return source_->OpenBeside(path, Request());
  }
  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, dir_.Path("in/" + name));
  }

  const TempDir dir_;
  std::shared_ptr<const Source> source_;
};

TEST_F(OpenBeside, FilesInTheDirectoryAndBelow) {
  for (const char* path : {"a", "./a", "sub/../a", "sub/b", "manifest"}) {
    EXPECT_TRUE(Ok(Open(path))) << path;
  }
  EXPECT_EQ((*Open("a"))->size(), 4U);
}

TEST_F(OpenBeside, NothingOutside) {
  const std::string absolute = dir_.Path("outside");
  for (const std::string& path :
       {std::string("../outside"), std::string(".."), absolute,
        std::string("sub/../../outside"), std::string("../in/a")}) {
    EXPECT_TRUE(Fails(Open(path), Code::kCorrupt)) << path;
  }
}

TEST_F(OpenBeside, LinksThatStayInside) {
  Link("a", "link");
  Link("sub", "folder");
  EXPECT_TRUE(Ok(Open("link")));
  EXPECT_TRUE(Ok(Open("folder/b")));
  Link("../outside", "up");
  Link(dir_.Path("outside"), "away");
  Link("..", "parent");
  EXPECT_TRUE(Fails(Open("up"), Code::kCorrupt));
  EXPECT_TRUE(Fails(Open("away"), Code::kCorrupt));
  EXPECT_TRUE(Fails(Open("parent/outside"), Code::kCorrupt));
  Link("/proc/self/fd/0", "magic");
  EXPECT_FALSE(Open("magic"));
}

TEST_F(OpenBeside, RefusesWhatIsNotARegularFile) {
  EXPECT_TRUE(Fails(Open("none"), Code::kNotFound));
  EXPECT_TRUE(Fails(Open("a/b"), Code::kNotFound));
  EXPECT_TRUE(Fails(Open(""), Code::kNotFound));
  EXPECT_TRUE(Fails(Open(std::string("a\0b", 3)), Code::kNotFound));
  EXPECT_TRUE(Fails(Open("sub"), Code::kIo));
  ASSERT_EQ(::mkfifo(dir_.Path("in/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(Fails(Open("fifo"), Code::kIo));
}

TEST_F(OpenBeside, AReplacedFileIsStale) {
  const auto file = *Open("sub/b");
  fs::rename(dir_.Path("in/a"), dir_.Path("in/sub/b"));
  EXPECT_TRUE(Fails(file->CheckUnchanged(), Code::kStale));
}

TEST_F(OpenBeside, Item45_1_AReplacedFileIsStaleWhenItIsOpenedAgain) {
  ASSERT_TRUE(Ok(Open("sub/b")));  // closed at once
  ASSERT_TRUE(Ok(Open("sub/b")));
  fs::rename(dir_.Path("in/a"), dir_.Path("in/sub/b"));
  EXPECT_TRUE(Fails(Open("sub/b"), Code::kStale));
}

TEST(MemorySource, HasNothingBesideIt) {
  EXPECT_TRUE(
      Fails(MemorySource("x").OpenBeside("a", Request()), Code::kNotFound));
}

// docs/tree.md, section 6: what is shown to everyone is what everyone may read.
TEST_F(OpenBeside, ForEveryoneOnlyWhatAllReadersMayRead) {
  const auto mode = [&](const char* name, mode_t bits) {
    ASSERT_EQ(::chmod(dir_.Path(name).c_str(), bits), 0);
  };
  mode("in", 0755);
  mode("in/sub", 0755);
  mode("in/manifest", 0640);
  mode("in/a", 0640);
  mode("in/sub/b", 0440);
  const auto everyone =
      *FileSource::Open(dir_.Path("in/manifest"), {AccessScope::kEveryone});
  EXPECT_TRUE(Ok(everyone->OpenBeside("a", Request())));
  EXPECT_TRUE(Ok(everyone->OpenBeside("sub/b", Request())));
  mode("in/a", 0600);
  mode("in/sub", 0700);
  EXPECT_TRUE(Fails(everyone->OpenBeside("a", Request()), Code::kIo));
  EXPECT_TRUE(Fails(everyone->OpenBeside("sub/b", Request()), Code::kIo));
  EXPECT_TRUE(Fails(everyone->OpenBeside("sub/../a", Request()), Code::kIo));
  EXPECT_TRUE(Ok(Open("a"))) << "for whoever mounts it";
  EXPECT_TRUE(Ok(Open("sub/b")));
}

TEST(ReadAccess, IncludeThoseOfTheSameOwnersWithNoMoreBits) {
  const ReadAccess all{1, 1, 0444};
  const ReadAccess group{1, 2, 0440};
  EXPECT_TRUE(all.Include({5, 6, 0444}));
  EXPECT_TRUE(group.Include({1, 2, 0400}));
  EXPECT_TRUE(group.Include(group));
  EXPECT_FALSE(group.Include({1, 3, 0440}));
  EXPECT_FALSE(group.Include({3, 2, 0440}));
  EXPECT_FALSE(group.Include({1, 2, 0444}));
  EXPECT_FALSE(group.Include({1, 2, 0404}));
}

TEST(ReadAccess, OfADirectoryMaySearchItToo) {
  struct stat st {};
  st.st_mode = S_IFDIR | 0745;
  EXPECT_EQ(ReadAccess::Of(st).bits, 0404U);
  st.st_mode = S_IFREG | 0745;
  EXPECT_EQ(ReadAccess::Of(st).bits, 0444U);
}

TEST_F(OpenBeside, SiblingsOfALinkAreBesideTheLink) {
  fs::create_directories(dir_.Path("blobs"));
  dir_.Write("blobs/1", "one");
  dir_.Write("blobs/b", "wrong");
  Link("../blobs/1", "linked");
  Link("../outside", "up");
  Link("../blobs", "folder");
  const auto linked = FileSource::Open(dir_.Path("in/linked"));
  ASSERT_TRUE(Ok(linked));
  EXPECT_EQ((*linked)->name(), "linked");
  EXPECT_EQ((*(*linked)->OpenSibling("a", Request()))->size(), 4U);
  EXPECT_EQ((*(*linked)->OpenSibling("sub/b", Request()))->name(), "b");
  EXPECT_TRUE(
      Fails((*linked)->OpenSibling("folder/b", Request()), Code::kCorrupt));
  EXPECT_TRUE(
      Fails((*linked)->OpenSibling("../outside", Request()), Code::kCorrupt));
  EXPECT_TRUE(Fails((*linked)->OpenSibling(dir_.Path("outside"), Request()),
                    Code::kCorrupt));
  EXPECT_TRUE(
      Fails((*linked)->OpenSibling("none", Request()), Code::kNotFound));
}

// Files of a download cache are an exception (download_cache_test.cc).
TEST_F(OpenBeside, Item28_13_NoSiblingIsALinkToElsewhere) {
  Link("../outside", "up");
  Link(dir_.Path("outside"), "away");
  Link("/etc/passwd", "system");
  for (const AccessScope access :
       {AccessScope::kMounter, AccessScope::kEveryone}) {
    const auto source =
        FileSource::Open(dir_.Path("in/manifest"), {.access = access});
    for (const char* name : {"up", "away", "system"}) {
      EXPECT_TRUE(
          Fails((*source)->OpenSibling(name, Request()), Code::kCorrupt))
          << name;
    }
  }
}

}  // namespace
}  // namespace ctxfs
