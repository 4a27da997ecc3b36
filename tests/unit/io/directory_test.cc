// SPDX-License-Identifier: Apache-2.0
#include "core/io/directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  Directory() {
    fs::create_directories(dir_.Path("in/sub/deep"));
    dir_.Write("outside", "secret");
    dir_.Write("in/a", "0123");
    dir_.Write("in/sub/b", "45");
    source_ = *OpenSource(dir_.Path("in"));
  }
  void Link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, dir_.Path("in/" + name));
  }

  const TempDir dir_;
  std::shared_ptr<const Source> source_;
};

TEST_F(Directory, ListsWhatIsInItAndFollowsLinksWithin) {
  Link("sub", "to_sub");
  Link("a", "to_a");
  Link("..", "up");
  Link("loop", "loop");
  const auto entries = source_->List(Request());
  ASSERT_TRUE(Ok(entries));
  std::string shown;
  for (const DirectoryEntry& entry : *entries) {
    shown += entry.name + (entry.directory ? "/ " : " ");
  }
  EXPECT_EQ(shown, "a loop sub/ to_a to_sub/ up ");
  EXPECT_TRUE(source_->is_directory());
  EXPECT_EQ(source_->size(), 0U);
}

TEST_F(Directory, OpensWhatLiesBeneath) {
  EXPECT_EQ((*source_->OpenBeside("a", Request()))->size(), 4U);
  EXPECT_EQ((*source_->OpenBeside("sub/b", Request()))->size(), 2U);
  const auto sub = source_->OpenDirectoryBeside("sub", Request());
  ASSERT_TRUE(Ok(sub));
  EXPECT_EQ((*sub)->List(Request())->size(), 2U);
  EXPECT_EQ((*(*sub)->OpenBeside("b", Request()))->size(), 2U);
  EXPECT_TRUE(Fails((*sub)->OpenBeside("../a", Request()), Code::kCorrupt));
}

TEST_F(Directory, RefusesWhatIsOutsideOrMissing) {
  Link("../outside", "out");
  Link("..", "up");
  EXPECT_TRUE(Fails(source_->OpenBeside("out", Request()), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(source_->OpenDirectoryBeside("up", Request()), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(source_->OpenDirectoryBeside("..", Request()), Code::kCorrupt));
  EXPECT_TRUE(
      Fails(source_->OpenDirectoryBeside("a", Request()), Code::kNotFound));
  EXPECT_TRUE(
      Fails(source_->OpenDirectoryBeside("none", Request()), Code::kNotFound));
  EXPECT_TRUE(Fails(source_->OpenBeside("sub", Request()), Code::kIo));
  ASSERT_EQ(::mkfifo(dir_.Path("in/fifo").c_str(), 0600), 0);
  EXPECT_TRUE(Fails(source_->OpenBeside("fifo", Request()), Code::kIo));
}

TEST_F(Directory, HasNoBytes) {
  std::byte one{};
  EXPECT_TRUE(Ok(source_->ReadAt(0, {}, Request())));
  EXPECT_TRUE(Fails(source_->ReadAt(0, {&one, 1}, Request()), Code::kCorrupt));
}

TEST_F(Directory, AFileIsNotADirectory) {
  const auto file = OpenSource(dir_.Path("in/a"));
  ASSERT_TRUE(Ok(file));
  EXPECT_FALSE((*file)->is_directory());
  EXPECT_TRUE(Fails((*file)->List(Request()), Code::kNotFound));
  // The directories beside it are opened like the files beside it.
  EXPECT_TRUE(Ok((*file)->OpenDirectoryBeside("sub", Request())));
  EXPECT_TRUE(
      Fails((*file)->OpenDirectoryBeside("none", Request()), Code::kNotFound));
  EXPECT_TRUE(
      Fails((*file)->OpenDirectoryBeside("../in", Request()), Code::kCorrupt));
  EXPECT_TRUE(Fails(DirectorySource::Open(dir_.Path("in/a")), Code::kIo));
  EXPECT_TRUE(Fails(OpenSource(dir_.Path("none")), Code::kIo));
}

TEST(SliceSource, IsAPartAndNoMore) {
  const auto whole = std::make_shared<MemorySource>("0123456789");
  const SliceSource slice(whole, 3, 4);
  EXPECT_EQ(slice.size(), 4U);
  EXPECT_EQ(AsText(ReadBuffer(slice, 0, 4, "slice", Request())->span()),
            "3456");
  EXPECT_EQ(AsText(ReadBuffer(slice, 2, 1, "slice", Request())->span()), "5");
  std::byte two[2];
  EXPECT_TRUE(Fails(slice.ReadAt(3, two, Request()), Code::kCorrupt, 3));
  EXPECT_TRUE(Fails(slice.ReadAt(UINT64_MAX, two, Request()), Code::kCorrupt));
}

}  // namespace
}  // namespace ctxfs
