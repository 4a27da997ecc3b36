// SPDX-License-Identifier: Apache-2.0
#include "fs/mount/kept_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>
#include <string>

#include "core/base/mutex.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

TEST(KeptSecret, Item41_12_IsMadeOnceForTheUserAlone) {
  const TempDir directory;
  const std::string path = directory.Path("a/b/kept.key");
  Mutex mutex;
  std::set<std::string> secrets;
  InThreads(8, [&](int) {
    const Result<std::string> secret = KeptSecret(path);
    ASSERT_TRUE(Ok(secret));
    const MutexLock lock(mutex);
    secrets.insert(*secret);
  });
  ASSERT_EQ(secrets.size(), 1U);
  EXPECT_EQ(secrets.begin()->size(), 32U);
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600U);
  EXPECT_EQ(st.st_nlink, 1U) << "the temporary names are gone";
  ASSERT_EQ(::stat(directory.Path("a/b").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0700U);
  EXPECT_NE(*KeptSecret(directory.Path("other.key")), *secrets.begin());
}

TEST(KeptSecret, Item41_12_IsRefusedIfOthersMayKnowIt) {
  const TempDir directory;
  const std::string path = directory.Path("kept.key");
  ASSERT_TRUE(Ok(KeptSecret(path)));
  for (const mode_t mode : {0640U, 0604U, 0660U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(Fails(KeptSecret(path), Code::kIo)) << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::symlink(path.c_str(), directory.Path("link").c_str()), 0);
  EXPECT_FALSE(KeptSecret(directory.Path("link")));
  for (const size_t size : {0U, 31U, 33U}) {
    (void)directory.Write("kept.key", std::string(size, 'k'));
    EXPECT_TRUE(Fails(KeptSecret(path), Code::kIo)) << size;
  }
  EXPECT_TRUE(Fails(KeptSecret(directory.Path("")), Code::kIo));
  EXPECT_FALSE(KeptSecret("/proc/none/kept.key"));
}

}  // namespace
}  // namespace ctxfs
