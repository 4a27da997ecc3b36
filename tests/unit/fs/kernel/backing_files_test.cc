// SPDX-License-Identifier: Apache-2.0
#include "fs/kernel/backing_files.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

#include "core/base/limits.h"
#include "tests/unit/testing/answerer.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

constexpr Inode kInode = 7;

/// Opens a file while the allocation after the next `after` fails. Returns
/// whether that allocation has come.
bool FailAt(BackingFiles& files, const SourcePtr& file, int64_t after) {
  FailingNew failing(after);
  try {
    EXPECT_EQ(files.Open(kInode, file).id(), 0);
  } catch (const std::bad_alloc&) {
    // Nothing was opened.
  }
  return failing.fired();
}

TEST(BackingFiles, WithoutMemoryAFileCanBeOpenedAgain) {
  if (!CountsHeap()) GTEST_SKIP() << "operator new is that of a sanitizer";
  const auto files = BackingFiles::Make();
  ASSERT_TRUE(Ok(files));
  const Answerer answerer(**files);
  const SourcePtr file =
      std::make_shared<MemorySource>(std::string(limits::kMiB, 'x'));
  int64_t after = 0;
  while (FailAt(**files, file, after)) {
    // Would wait for ever for what the one before did not decide.
    EXPECT_EQ((*files)->Open(kInode, file).id(), 0);
    ++after;
  }
  EXPECT_GE(after, 2);
}

TEST(BackingFiles, NobodyHasOpenWhatIsUnused) {
  const auto files = BackingFiles::Make();
  ASSERT_TRUE(Ok(files));
  const Answerer answerer(**files);
  const SourcePtr file =
      std::make_shared<MemorySource>(std::string(limits::kMiB, 'x'));
  bool acted = false;
  const auto act = [&] { acted = true; };
  {
    const BackingFiles::Use use = (*files)->Open(kInode, nullptr);
    EXPECT_FALSE((*files)->WhileUnused(kInode, file, act));
    EXPECT_TRUE((*files)->WhileUnused(kInode + 1, file, act));
  }
  EXPECT_TRUE((*files)->WhileUnused(kInode, file, act));
  EXPECT_FALSE(acted) << "the kernel does not read it by itself";
  EXPECT_EQ((*files)->Open(kInode, file).id(), 0) << "it can be opened again";
}

}  // namespace
}  // namespace ctxfs
