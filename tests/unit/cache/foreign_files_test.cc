// SPDX-License-Identifier: Apache-2.0
//
// What is no regular file in the place of a file of a BlockStore.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "core/cache/block_store.h"
#include "core/io/fd.h"
#include "tests/unit/cache/block_store_fixture.h"

namespace ctxfs {
namespace {

/// Puts something else in the place of a file.
using Replace = void (*)(const std::filesystem::path& path);

void MakeFifo(const std::filesystem::path& path) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
}
void MakeSocket(const std::filesystem::path& path) {
  ASSERT_EQ(::mknod(path.c_str(), S_IFSOCK | 0600, 0), 0);
}
void MakeDirectory(const std::filesystem::path& path) {
  std::filesystem::create_directory(path);
}
void MakeFullDirectory(const std::filesystem::path& path) {
  std::filesystem::create_directories(path / "other");
}
void MakeLink(const std::filesystem::path& path) {
  std::filesystem::create_symlink("/dev/zero", path);
}
void MakeLinkToNothing(const std::filesystem::path& path) {
  std::filesystem::create_symlink("nothing", path);
}

class ForeignFileTest : public BlockStoreTest,
                        public testing::WithParamInterface<Replace> {
 protected:
  void ReplaceFile(const std::filesystem::path& path) const {
    std::filesystem::remove(path);
    GetParam()(path);
  }
};

TEST_P(ForeignFileTest, Item41_16_InPlaceOfABlockIsAMiss) {
  const std::string block = Block('a');
  ASSERT_TRUE(Open()->Write("k", 0, {AsBytes(block)}));
  const std::filesystem::path path = Files().at(0);
  ReplaceFile(path);
  const auto store = Open();
  EXPECT_EQ(Read(*store, "k", 0), "");
  EXPECT_FALSE(store->OpenFile("k", 0));
  const bool passed_over = std::filesystem::is_directory(path);
  // What can be removed is replaced.
  EXPECT_EQ(store->Write("k", 0, {AsBytes(block)}), !passed_over);
  EXPECT_EQ(Read(*store, "k", 0), passed_over ? "" : block);
  // The disk did not refuse it.
  EXPECT_EQ(store->refusal(), 0);
  EXPECT_TRUE(store->Write("k", 1, {AsBytes(block)}));
}

TEST_P(ForeignFileTest, Item41_16_InPlaceOfARecordIsAMiss) {
  const auto store = Open();
  store->WriteRecord("k", "text");
  const std::filesystem::path path = Files().at(0);
  ReplaceFile(path);
  EXPECT_EQ(store->ReadRecord("k"), std::nullopt);
  store->WriteRecord("k", "text");
  const bool passed_over = std::filesystem::is_directory(path);
  EXPECT_EQ(store->ReadRecord("k").value_or(""), passed_over ? "" : "text");
}

TEST_P(ForeignFileTest, Item41_16_InPlaceOfAnObjectIsAMiss) {
  const std::string block = Block('a');
  ASSERT_TRUE(Open()->Write("k", 0, {AsBytes(block)}));
  const std::filesystem::path object = Files().at(0).parent_path();
  std::filesystem::remove_all(object);
  GetParam()(object);
  const auto store = Open();
  EXPECT_EQ(Read(*store, "k", 0), "");
  EXPECT_EQ(store->ReadRecord("k"), std::nullopt);
  EXPECT_TRUE(store->Write("k", 0, {AsBytes(block)}));
  EXPECT_EQ(Read(*store, "k", 0), block);
}

TEST_P(ForeignFileTest, Item41_16_InPlaceOfTheLockKeepsTheBound) {
  const std::string block = Block('a');
  const auto store = Open(4 * kBlock);
  GetParam()(dir_.Path("cache/lock"));
  for (uint64_t i = 0; i < 16; ++i) {
    EXPECT_TRUE(store->Write("k", i, {AsBytes(block)}));
    store->MakeRoom();
  }
  EXPECT_LE(Bytes(), 5 * kBlock);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ForeignFileTest,
                         testing::Values(&MakeFifo, &MakeSocket, &MakeDirectory,
                                         &MakeFullDirectory, &MakeLink,
                                         &MakeLinkToNothing));

TEST_F(BlockStoreTest, Item41_16_OfflineAForeignFileStays) {
  const std::string block = Block('a');
  ASSERT_TRUE(Open()->Write("k", 0, {AsBytes(block)}));
  const std::filesystem::path path = Files().at(0);
  std::filesystem::remove(path);
  MakeFifo(path);
  const auto store = *BlockStore::Open(dir_.Path("cache"), 1 << 30,
                                       BlockStore::Damaged::kKept);
  EXPECT_EQ(Read(*store, "k", 0), "");
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(BlockStoreTest, Item41_16_AFifoInPlaceOfAKeptFileIsNotWaitedFor) {
  const auto store = Open();
  (void)dir_.Write("made", "text");
  const Fd made(::open(dir_.Path("made").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(store->KeepWhole("k", made.get(), std::string(32, 'a')));
  const std::filesystem::path kept = Files().at(0);
  const std::filesystem::path fifo = dir_.Path("fifo");
  MakeFifo(fifo);
  const auto exchange = [&] {
    return ::renameat2(AT_FDCWD, fifo.c_str(), AT_FDCWD, kept.c_str(),
                       RENAME_EXCHANGE);
  };
  if (exchange() != 0) GTEST_SKIP() << "this file system exchanges no names";
  std::atomic<bool> done = false;
  std::thread other([&] {
    while (!done) (void)exchange();
  });
  for (int i = 0; i < 5000; ++i) {
    const auto found = store->OpenWhole("k");
    struct stat st {};
    if (!found) continue;
    EXPECT_EQ(::fstat(found->file.get(), &st), 0);
    EXPECT_TRUE(S_ISREG(st.st_mode));
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace ctxfs
