// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/kept_sources.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/io/descriptors.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

constexpr Inode kInode = 7;

class KeptSourcesTest : public testing::Test {
 protected:
  std::shared_ptr<const FileSource> Open() const {
    SourceOptions options;
    options.watch_ctime = true;
    return *FileSource::Open(path_, options);
  }

  const TempDir dir_;
  const std::string path_ = dir_.Write("file", "old");
  KeptSources kept_{std::chrono::seconds(3600)};
};

TEST_F(KeptSourcesTest, GivesTheFileThatWasKept) {
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  const auto source = Open();
  kept_.Keep(kInode, source);
  EXPECT_EQ(kept_.Get(kInode), source);
  const auto other = Open();
  kept_.Keep(kInode, other);
  EXPECT_EQ(kept_.Get(kInode), other);
  kept_.Drop(kInode);
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  EXPECT_FALSE(kept_.DropAll());
}

TEST_F(KeptSourcesTest, GivesNoFileThatHasChanged) {
  kept_.Keep(kInode, Open());
  dir_.Write("file", "longer");
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  kept_.Keep(kInode, Open());
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  kept_.Keep(kInode, Open());
  std::filesystem::rename(dir_.Write("other", "another"), path_);
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  EXPECT_FALSE(kept_.DropAll()) << "and it is closed";
}

TEST_F(KeptSourcesTest, KeepsNothingWhereNamesLastASecond) {
  for (const int seconds : {0, 1}) {
    KeptSources kept{std::chrono::seconds(seconds)};
    kept.Keep(kInode, Open());
    EXPECT_EQ(kept.Get(kInode), nullptr);
  }
}

TEST_F(KeptSourcesTest, KeepsNothingWhereDescriptorsAreFew) {
  Descriptors::SetMost(100);
  kept_.Keep(kInode, Open());
  EXPECT_EQ(kept_.Get(kInode), nullptr);
  Descriptors::SetMost(UINT64_MAX);
}

}  // namespace
}  // namespace ctxfs
