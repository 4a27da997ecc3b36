// SPDX-License-Identifier: Apache-2.0
#include "core/cache/store_contents.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "core/cache/block_store.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

class StoreContentsTest : public testing::Test {
 protected:
  std::string Top() const { return dir_.Path("cache"); }
  std::unique_ptr<BlockStore> Open() const {
    return *BlockStore::Open(Top(), 1 << 30);
  }
  /// A store with three blocks of two objects.
  std::unique_ptr<BlockStore> Filled() const {
    auto store = Open();
    store->Write("one", 0, {AsBytes(block_), AsBytes(block_)});
    store->Write("two", 7, {AsBytes(block_)});
    return store;
  }
  bool Has(BlockStore& store, const std::string& key, uint64_t number) const {
    std::string text(BlockStore::kBlockBytes, '\0');
    const MutableBytes out = std::as_writable_bytes(std::span(text));
    return store.Read(key, number, {&out, 1}) == 1 && text == block_;
  }
  /// The directories of objects.
  std::vector<fs::path> Objects() const {
    std::vector<fs::path> found;
    for (const auto& one : fs::directory_iterator(Top())) {
      if (one.is_directory()) found.push_back(one.path());
    }
    return found;
  }
  /// All names below a directory but that of the store's lock.
  static std::set<std::string> Names(const fs::path& top) {
    std::set<std::string> names;
    for (const auto& one : fs::recursive_directory_iterator(top)) {
      if (one.path().filename() != "lock") names.insert(one.path().string());
    }
    return names;
  }
  static void Put(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  StoreContents Clear() const { return **ClearStore(Top()); }

  TempDir dir_;
  const std::string block_ = std::string(BlockStore::kBlockBytes, 'b');
};

TEST_F(StoreContentsTest, Item30_5_CountsObjectsBlocksAndBytes) {
  const auto store = Filled();
  const StoreContents found = **CountStore(Top());
  EXPECT_EQ(found.objects, 2U);
  EXPECT_EQ(found.blocks, 3U);
  EXPECT_GT(found.bytes, 3 * BlockStore::kBlockBytes);
  EXPECT_LT(found.bytes, 3 * BlockStore::kBlockBytes + 1000);
  EXPECT_TRUE(Has(*store, "one", 1));
}

TEST_F(StoreContentsTest, Item30_5_NoDirectoryIsNoStoreAndIsNotMade) {
  EXPECT_FALSE((*CountStore(Top())).has_value());
  EXPECT_FALSE((*ClearStore(Top())).has_value());
  EXPECT_FALSE(fs::exists(Top()));
}

TEST_F(StoreContentsTest, Item30_5_ClearingLeavesAStoreThatWorks) {
  const auto store = Filled();
  const uint64_t bytes = (*CountStore(Top()))->bytes;
  EXPECT_TRUE(Has(*store, "one", 0));
  const StoreContents removed = Clear();
  EXPECT_EQ(removed.objects, 2U);
  EXPECT_EQ(removed.blocks, 3U);
  EXPECT_EQ(removed.bytes, bytes);
  EXPECT_TRUE(Names(Top()).empty());
  // One that was open before: it misses the blocks, and keeps new ones.
  EXPECT_FALSE(Has(*store, "one", 0));
  store->Write("one", 0, {AsBytes(block_)});
  EXPECT_TRUE(Has(*store, "one", 0));
  EXPECT_EQ((*CountStore(Top()))->blocks, 1U);
}

TEST_F(StoreContentsTest, Item30_5_ClearingKeepsForeignFiles) {
  (void)Filled();
  const fs::path object = Objects().front();
  const fs::path digits = fs::path(Top()) / std::string(64, 'a');
  fs::create_directory(digits);
  std::set<std::string> kept = {digits};
  const auto keep = [&kept](const fs::path& path) {
    Put(path, "foreign");
    kept.insert(path);
  };
  kept.insert(object);
  // Called as those of a store, but without its first bytes; and otherwise.
  for (const char* name : {"100-1", "x", "00-1", "1-0", "1-65", "1-1 ", ".x"}) {
    keep(object / name);
  }
  keep(fs::path(Top()) / "0-1");
  keep(fs::path(Top()) / "file");
  const fs::path other = fs::path(Top()) / "directory";
  fs::create_directory(other);
  kept.insert(other);
  keep(other / "0-1");
  Put(other / "1-1", "ctxfsblk");
  kept.insert(other / "1-1");
  EXPECT_EQ(Clear().blocks, 3U);
  EXPECT_EQ(Names(Top()), kept);
}

TEST_F(StoreContentsTest, Item30_5_ClearingFollowsNoLink) {
  (void)Filled();
  const fs::path object = Objects().front();
  const fs::path away = dir_.Path("away");
  fs::create_directory(away);
  Put(away / "0-1", "ctxfsblk");
  const auto outside = Names(away);
  fs::create_symlink(away / "0-1", object / "200-1");
  fs::create_hard_link(away / "0-1", object / "300-1");
  fs::create_directory(object / "400-1");
  ASSERT_EQ(::mkfifo((object / "500-1").c_str(), 0600), 0);
  fs::create_directory_symlink(away, fs::path(Top()) / std::string(64, 'b'));
  EXPECT_EQ(Clear().blocks, 4U);  // the hard link is a name in the store
  EXPECT_EQ(Names(away), outside);
  EXPECT_TRUE(fs::is_symlink(object / "200-1"));
  EXPECT_TRUE(fs::is_directory(object / "400-1"));
  EXPECT_TRUE(fs::is_fifo(object / "500-1"));
}

TEST_F(StoreContentsTest, Item30_5_ClearingRemovesDamagedFiles) {
  (void)Filled();
  for (const fs::path& object : Objects()) {
    for (const auto& file : fs::directory_iterator(object)) {
      std::fstream open(file.path(),
                        std::ios::in | std::ios::out | std::ios::binary);
      open.seekp(9);
      open << std::string(100, '!');
    }
  }
  EXPECT_EQ((*CountStore(Top()))->blocks, 3U);
  EXPECT_EQ(Clear().blocks, 3U);
  EXPECT_TRUE(Names(Top()).empty());
}

TEST_F(StoreContentsTest, Item30_5_ClearingRemovesWhatAKilledProcessLeft) {
  (void)Filled();
  const fs::path object = Objects().front();
  Put(object / ".12-0", "ctxfsblk");
  Put(object / ".12-1", "ctxfsblk");
  fs::last_write_time(object / ".12-0", fs::last_write_time(object / ".12-0") -
                                            std::chrono::hours(2));
  EXPECT_EQ((*CountStore(Top()))->blocks, 3U);
  EXPECT_EQ(Clear().blocks, 3U);
  EXPECT_EQ(Names(Top()), (std::set<std::string>{object, object / ".12-1"}));
}

TEST_F(StoreContentsTest, Item30_5_ADirectoryInTheWrongPlaceLosesNothing) {
  const fs::path home = Top();
  fs::create_directories(home / "me" / "sub");
  Put(home / "me" / "0-1", "ctxfsblk");
  Put(home / "me" / "letter", "text");
  Put(home / "0-1", "ctxfsblk");
  fs::create_directory(home / std::string(64, '0'));
  const auto before = Names(home);
  EXPECT_EQ(Clear().bytes, 0U);
  EXPECT_EQ(Names(home), before);
}

TEST_F(StoreContentsTest, Item30_5_OthersMayNotWriteThere) {
  (void)Filled();
  ASSERT_EQ(::chmod(Top().c_str(), 0777), 0);
  EXPECT_TRUE(Fails(CountStore(Top()), Code::kIo));
  EXPECT_TRUE(Fails(ClearStore(Top()), Code::kIo));
  EXPECT_TRUE(Fails(ClearStore("relative"), Code::kIo));
  EXPECT_EQ(Objects().size(), 2U);
  Put(dir_.Path("file"), "text");
  EXPECT_TRUE(Fails(ClearStore(dir_.Path("file")), Code::kIo));
}

}  // namespace
}  // namespace ctxfs
