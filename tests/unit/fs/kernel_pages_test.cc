// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel_pages.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "core/base/mutex.h"

namespace ctxfs {
namespace {

/// Notes which files are dropped. The first call waits for `go_on`.
struct Dropped {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::shared_future<void> going_on = go_on.get_future();
  Mutex mutex;
  CondVar changed;
  std::vector<Inode> files CTXFS_GUARDED_BY(mutex);

  void Drop(Inode file) {
    bool first = false;
    {
      const MutexLock lock(mutex);
      first = files.empty();
      files.push_back(file);
      changed.NotifyAll();
    }
    if (!first) return;
    begun.set_value();
    going_on.wait();
  }
  void WaitFor(size_t count) {
    const MutexLock lock(mutex);
    while (files.size() < count) changed.Wait(mutex);
  }
};

TEST(KernelPages, WhoAsksDoesNotWaitAndAFileIsDroppedOnceForAllWhoAsk) {
  Dropped dropped;
  KernelPages pages;
  pages.DropBy([&](Inode file) { dropped.Drop(file); });
  pages.Drop(1);
  dropped.begun.get_future().wait();
  for (int i = 0; i < 3; ++i) {
    pages.Drop(2);
    pages.Drop(1);  // again: pages were read since
  }
  dropped.go_on.set_value();
  dropped.WaitFor(3);
  pages.Stop();
  const MutexLock lock(dropped.mutex);
  EXPECT_EQ(dropped.files.size(), 3U);
  EXPECT_EQ(dropped.files[0], 1U);
  EXPECT_EQ(dropped.files[1] + dropped.files[2], 3U);
}

TEST(KernelPages, NothingIsDroppedAfterTheEnd) {
  Dropped dropped;
  {
    KernelPages pages;
    pages.DropBy([&](Inode file) { dropped.Drop(file); });
    pages.Drop(1);
    dropped.begun.get_future().wait();
    pages.Drop(2);
    pages.Stop();  // does not wait for what is under way
    dropped.go_on.set_value();
  }
  const MutexLock lock(dropped.mutex);
  EXPECT_EQ(dropped.files, (std::vector<Inode>{1}));
}

TEST(KernelPages, NobodyDropsThemBeforeThereIsASession) {
  KernelPages pages;
  pages.Drop(1);
  pages.Stop();
  pages.Drop(2);
}

}  // namespace
}  // namespace ctxfs
