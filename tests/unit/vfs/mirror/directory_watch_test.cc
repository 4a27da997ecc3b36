// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/directory_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "core/base/mutex.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

constexpr Inode kIn = 7;
constexpr Inode kLinked = 8;

class DirectoryWatchTest : public testing::Test {
 protected:
  using Change = std::pair<Inode, std::string>;

  DirectoryWatchTest() : watch_(*DirectoryWatch::Make()) {
    std::filesystem::create_directories(dir_.Path("in"));
    watch_->SetListener({[this](Inode directory, const std::string& name) {
                           const MutexLock lock(mutex_);
                           changes_.emplace(directory, name);
                         },
                         [] {}});
  }

  /// Whether a change is told within a few seconds.
  bool Told(const Change& change) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < end) {
      {
        const MutexLock lock(mutex_);
        if (changes_.contains(change)) return true;
      }
      ::usleep(1000);
    }
    return false;
  }

  const TempDir dir_;
  Mutex mutex_;
  std::set<Change> changes_ CTXFS_GUARDED_BY(mutex_);
  std::unique_ptr<DirectoryWatch> watch_;  // last: its thread uses the rest
};

TEST_F(DirectoryWatchTest, TellsNamesThatChangeAndTheirDirectory) {
  dir_.Write("in/old", "1");
  EXPECT_FALSE(watch_->IsWatched(kIn));
  watch_->Watch(kIn, dir_.Path("in"));
  EXPECT_TRUE(watch_->IsWatched(kIn));
  dir_.Write("in/new", "1");
  EXPECT_TRUE(Told({kIn, "new"}));
  EXPECT_TRUE(Told({kIn, ""})) << "its times changed";
  dir_.Write("in/old", "22");
  EXPECT_TRUE(Told({kIn, "old"}));
}

// By a link one directory appears at two places.
TEST_F(DirectoryWatchTest, TellsEveryPlaceOfADirectoryUntilItIsForgotten) {
  watch_->Watch(kIn, dir_.Path("in"));
  watch_->Watch(kLinked, dir_.Path("in"));
  dir_.Write("in/a", "1");
  EXPECT_TRUE(Told({kIn, "a"}));
  EXPECT_TRUE(Told({kLinked, "a"}));
  watch_->Forget(kIn);
  EXPECT_FALSE(watch_->IsWatched(kIn));
  dir_.Write("in/b", "1");
  EXPECT_TRUE(Told({kLinked, "b"}));
  const MutexLock lock(mutex_);
  EXPECT_FALSE(changes_.contains({kIn, "b"}));
}

TEST_F(DirectoryWatchTest, WatchesAtMostSoManyDirectories) {
  for (Inode i = 0; i < DirectoryWatch::kMaxWatches; ++i) {
    watch_->Watch(100 + i, dir_.Path("in"));
  }
  watch_->Watch(kIn, dir_.Path("in"));
  EXPECT_FALSE(watch_->IsWatched(kIn));
  watch_->Forget(100);
  watch_->Watch(kIn, dir_.Path("in"));
  EXPECT_TRUE(watch_->IsWatched(kIn));
}

TEST_F(DirectoryWatchTest, ADirectoryThatIsRemovedIsWatchedNoMore) {
  watch_->Watch(kIn, dir_.Path("in"));
  std::filesystem::remove(dir_.Path("in"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (watch_->IsWatched(kIn) && std::chrono::steady_clock::now() < end) {
    ::usleep(1000);
  }
  EXPECT_FALSE(watch_->IsWatched(kIn));
  watch_->Watch(kIn, dir_.Path("missing"));
  EXPECT_FALSE(watch_->IsWatched(kIn));
}

TEST_F(DirectoryWatchTest, TellsNothingOnceStopped) {
  watch_->Watch(kIn, dir_.Path("in"));
  watch_->Stop();
  dir_.Write("in/a", "1");
  ::usleep(50'000);
  const MutexLock lock(mutex_);
  EXPECT_TRUE(changes_.empty());
}

}  // namespace
}  // namespace ctxfs
