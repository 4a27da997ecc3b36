// SPDX-License-Identifier: Apache-2.0
#include "core/cache/block_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/cache/store_contents.h"
#include "core/io/fd.h"
#include "tests/unit/cache/block_store_fixture.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

TEST_F(BlockStoreTest, KeepsWholeFilesForTheNextProcess) {
  const std::string digest(32, 'd');
  {
    const auto store = Open();
    const Fd file(::open(dir_.Path("cache").c_str(), O_TMPFILE | O_RDWR, 0600));
    ASSERT_EQ(::write(file.get(), "whole", 5), 5);
    EXPECT_FALSE(store->OpenWhole("key"));
    EXPECT_TRUE(store->KeepWhole("key", file.get(), digest));
    EXPECT_TRUE(store->KeepWhole("key", file.get(), digest)) << "once more";
  }
  const auto store = Open();
  const auto found = store->OpenWhole("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->digest, digest);
  char bytes[6] = {};
  EXPECT_EQ(::read(found->file.get(), bytes, 5), 5);
  EXPECT_STREQ(bytes, "whole");
  EXPECT_FALSE(store->OpenWhole("other"));
  EXPECT_EQ((*CountStore(dir_.Path("cache")))->files, 1U);
  store->DropWhole("key", digest);
  EXPECT_FALSE(store->OpenWhole("key"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(BlockStoreTest, WholeFilesAreRemovedWithTheBlocks) {
  const auto store = Open();
  const Fd file(::open(dir_.Path("cache").c_str(), O_TMPFILE | O_RDWR, 0600));
  EXPECT_TRUE(store->KeepWhole("key", file.get(), std::string(32, '0')));
  EXPECT_EQ((*ClearStore(dir_.Path("cache")))->files, 1U);
  EXPECT_TRUE(Files().empty());
}

TEST_F(BlockStoreTest, Item30_5_KeepsBlocksForTheNextProcess) {
  const std::string a = Block('a');
  const std::string b = Block('b', 10);
  Open()->Write("key", 5, {AsBytes(a), AsBytes(b)});
  const auto store = Open();
  EXPECT_EQ(Read(*store, "key", 5), a);
  EXPECT_EQ(Read(*store, "key", 6, 10), b);
  EXPECT_EQ(Read(*store, "key", 4), "");
  EXPECT_EQ(Read(*store, "key", 7), "");
  EXPECT_EQ(Read(*store, "another", 5), "");
}

TEST_F(BlockStoreTest, Item30_5_SeesWhatAnotherProcessWrites) {
  const auto one = Open();
  const auto other = Open();
  EXPECT_EQ(Read(*one, "key", 0), "");
  other->Write("key", 0, {AsBytes(Block('a'))});
  EXPECT_EQ(Read(*one, "key", 0), Block('a'));
}

TEST_F(BlockStoreTest, Item30_5_ADamagedBlockIsDropped) {
  const std::string a = Block('a');
  // In the header, the checksums, and the block.
  for (const std::streamoff at : {9, 40, 64, 90}) {
    const auto store = Open();
    store->Write("key", 0, {AsBytes(a)});
    ASSERT_EQ(Files().size(), 1U);
    std::fstream file(Files().front(),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
    file.close();
    EXPECT_EQ(Read(*store, "key", 0), "") << at;
    EXPECT_TRUE(Files().empty()) << at;
    store->Write("key", 0, {AsBytes(a)});
    EXPECT_EQ(Read(*store, "key", 0), a) << at;
  }
}

TEST_F(BlockStoreTest, Item30_4_ReadsARunUpToItsEndOrDamage) {
  const std::string a = Block('a');
  const std::string b = Block('b');
  const std::string c = Block('c');
  const auto store = Open();
  const auto write = [&] {
    store->Write("key", 5, {AsBytes(a), AsBytes(b), AsBytes(c)});
  };
  std::vector<std::string> text(4, Block('-'));
  std::vector<MutableBytes> out;
  for (std::string& one : text) {
    out.push_back(std::as_writable_bytes(std::span(one)));
  }
  write();
  EXPECT_EQ(store->Read("key", 6, out), 2U);
  EXPECT_EQ(text, (std::vector{b, c, Block('-'), Block('-')}));
  EXPECT_EQ(store->Read("key", 5, std::span(out).first(1)), 1U);
  EXPECT_EQ(text[0], a);
  std::fstream file(Files().front(),
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-std::streamoff{kBlock} - 1, std::ios::end);  // the end of b
  file.put('!');
  file.close();
  EXPECT_EQ(store->Read("key", 5, out), 1U);
  EXPECT_EQ(text[0], a);
  EXPECT_TRUE(Files().empty());
  write();
  EXPECT_EQ(store->Read("key", 5, out), 3U);
  EXPECT_EQ(text, (std::vector{a, b, c, text[3]}));
}

TEST_F(BlockStoreTest, Item30_4_TheNextBlockIsFoundWithoutOpeningFiles) {
  const auto store = Open();
  const std::string bytes = Block('a');
  const auto keep = [&](uint64_t first, size_t count) {
    ASSERT_TRUE(store->Write("key", first,
                             std::vector<ctxfs::Bytes>(count, AsBytes(bytes))));
  };
  EXPECT_EQ(store->NextKept("key", 0, 100), 100U);
  keep(10, 2);
  keep(40, 1);
  keep(30, 64);  // ends behind the one that begins later
  keep(200, 1);
  EXPECT_EQ(store->NextKept("key", 0, 100), 10U);
  EXPECT_EQ(store->NextKept("key", 0, 5), 5U);
  EXPECT_EQ(store->NextKept("key", 11, 100), 11U);
  EXPECT_EQ(store->NextKept("key", 12, 100), 30U);
  EXPECT_EQ(store->NextKept("key", 41, 100), 41U);
  EXPECT_EQ(store->NextKept("key", 93, 100), 93U);
  EXPECT_EQ(store->NextKept("key", 94, 100), 100U);
  EXPECT_EQ(store->NextKept("key", 94, 300), 200U);
  EXPECT_EQ(store->NextKept("other", 0, 100), 100U);
}

TEST_F(BlockStoreTest, Item30_4_BlocksInOneBufferAreReadUpToDamage) {
  constexpr size_t kBlocks = 9;
  std::string bytes;
  for (char c = 'a'; c < static_cast<char>('a' + kBlocks - 1); ++c) {
    bytes += Block(c);
  }
  bytes += Block('z', 10);
  std::vector<ctxfs::Bytes> blocks;
  std::vector<MutableBytes> out;
  std::string read(bytes.size(), '-');
  for (size_t at = 0; at < bytes.size(); at += kBlock) {
    const size_t size = std::min<size_t>(kBlock, bytes.size() - at);
    blocks.push_back(AsBytes(bytes).subspan(at, size));
    out.push_back(std::as_writable_bytes(std::span(read)).subspan(at, size));
  }
  // Every block is damaged once; then the file is cut within each.
  for (const bool cut : {false, true}) {
    for (size_t i = 0; i <= kBlocks; ++i) {
      const auto store = Open();
      store->Write("key", 0, blocks);
      const std::string name = Files().front();
      const auto size = std::filesystem::file_size(name);
      const auto at = size - bytes.size() + i * kBlock;
      if (i < kBlocks && cut) std::filesystem::resize_file(name, at + 1);
      if (i < kBlocks && !cut) {
        std::fstream file(name, std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(at));
        file.put('!');
      }
      EXPECT_EQ(store->Read("key", 0, out), i) << cut;
      EXPECT_EQ(read.substr(0, i * kBlock), bytes.substr(0, i * kBlock));
      std::filesystem::remove(name);
    }
  }
}

TEST_F(BlockStoreTest, Item30_4_ReadsWhileAnotherThreadWrites) {
  const auto store = Open();
  const auto block = [](uint64_t i) {
    return Block(static_cast<char>('a' + i % 26));
  };
  constexpr uint64_t kBlocks = 200;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kBlocks; ++i) {
      store->Write("key", i, {AsBytes(block(i))});
    }
  });
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const std::string got = Read(*store, "key", i);
    EXPECT_TRUE(got.empty() || got == block(i)) << i;
  }
  writer.join();
  for (uint64_t i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(Read(*store, "key", i), block(i)) << i;
  }
}

TEST_F(BlockStoreTest, Item30_5_AFileCutShortIsDropped) {
  const auto store = Open();
  store->Write("key", 0, {AsBytes(Block('a')), AsBytes(Block('b'))});
  std::filesystem::resize_file(Files().front(), kBlock + 100);
  EXPECT_EQ(Read(*store, "key", 0), Block('a'));
  EXPECT_EQ(Read(*store, "key", 1), "");
}

TEST_F(BlockStoreTest, Item30_5_AFileThatCannotBeOpenedNowIsNotDropped) {
  const std::string a = Block('a');
  const auto store = Open();
  store->Write("key", 5, {AsBytes(a)});
  ASSERT_EQ(Read(*store, "key", 5), a);  // the directory is open from now on
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const Fd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const rlimit none{static_cast<rlim_t>(next.get()), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const std::string read = Read(*store, "key", 5);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(read, "");
  EXPECT_EQ(Files().size(), 1U);
  EXPECT_EQ(Read(*store, "key", 5), a);
}

TEST_F(BlockStoreTest, Item30_5_WhatWasUsedLeastRecentlyGoesFirst) {
  constexpr uint64_t kMax = 32 * kBlock;
  const auto store = Open(kMax);
  const auto age = [this] {
    for (const auto& file : Files()) {
      std::filesystem::last_write_time(
          file, std::filesystem::last_write_time(file) - std::chrono::hours(2));
    }
  };
  store->Write("used", 0, {AsBytes(Block('u'))});
  store->Write("old", 0, {AsBytes(Block('o'))});
  age();
  EXPECT_EQ(Read(*store, "used", 0), Block('u'));  // touches it
  for (uint64_t i = 0; i < 60; ++i) {
    store->Write("new", i, {AsBytes(Block('n'))});
    store->MakeRoom();
  }
  EXPECT_LE(Bytes(), kMax + kMax / 8);
  EXPECT_EQ(Read(*store, "old", 0), "");
  EXPECT_EQ(Read(*store, "new", 59), Block('n'));
}

TEST_F(BlockStoreTest, Item30_5_TheFirstFileMakesRoomForThoseOfOthers) {
  constexpr uint64_t kMax = 32 * kBlock;
  for (uint64_t i = 0; i < 60; ++i) {
    Open(kMax)->Write("key", i, {AsBytes(Block('a'))});
  }
  const auto store = Open(kMax);
  store->MakeRoom();
  EXPECT_GT(Bytes(), 60 * kBlock) << "nothing was written";
  store->Write("key", 60, {AsBytes(Block('a'))});
  store->MakeRoom();
  EXPECT_LE(Bytes(), kMax);
}

TEST_F(BlockStoreTest, Item30_5_MakingRoomKeepsForeignFiles) {
  const auto store = Open(1);
  const std::filesystem::path top = dir_.Path("cache");
  const auto in_object = [&] { return Files().front().parent_path(); };
  store->Write("key", 0, {AsBytes(Block('a'))});
  const std::vector<std::filesystem::path> foreign = {
      top / "file", top / "me" / "letter", top / "me" / "0-1",
      in_object() / "letter", in_object() / ".letter"};
  std::filesystem::create_directories(top / "me");
  std::filesystem::create_directories(top / "empty");
  for (const auto& path : foreign) std::ofstream(path) << "foreign";
  store->Write("key", 1, {AsBytes(Block('b'))});
  store->MakeRoom();
  EXPECT_EQ(Read(*store, "key", 0), "") << "there was room";
  for (const auto& path : foreign) EXPECT_TRUE(exists(path)) << path;
  EXPECT_TRUE(exists(top / "empty"));
}

TEST_F(BlockStoreTest, Item30_5_IsForTheUserAlone) {
  (void)Open();
  struct stat st {};
  ASSERT_EQ(::stat(dir_.Path("cache").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0700U);
  ASSERT_EQ(::chmod(dir_.Path("cache").c_str(), 0777), 0);
  EXPECT_TRUE(Fails(BlockStore::Open(dir_.Path("cache"), 1), Code::kIo));
  EXPECT_TRUE(Fails(BlockStore::Open("relative", 1), Code::kIo));
}

TEST_F(BlockStoreTest, Item30_5_TakesNoDirectoryFromOthers) {
  const std::string path = dir_.Path("shared");
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  std::ofstream(path + "/notes") << "for all";
  EXPECT_TRUE(Fails(BlockStore::Open(path, 1 << 20), Code::kIo));
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0755U);
  // One for the user alone, or for the cache alone, can be it.
  ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
  EXPECT_TRUE(Ok(BlockStore::Open(path, 1 << 20)));
  Open()->Write("key", 0, {AsBytes(Block('a'))});
  ASSERT_EQ(::chmod(dir_.Path("cache").c_str(), 0755), 0);
  EXPECT_EQ(Read(*Open(), "key", 0), Block('a'));
  ASSERT_EQ(::stat(dir_.Path("cache").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777U, 0700U);
}

TEST_F(BlockStoreTest, Item30_5_NamesOfOtherFilesAreIgnored) {
  const auto store = Open();
  store->Write("key", 0, {AsBytes(Block('a'))});
  const auto directory = Files().front().parent_path();
  for (const char* name : {"x", "1-", "-1", "18446744073709551615-2", "1-999",
                           "1-0", ".1-0", "3-1"}) {
    std::ofstream(directory / name) << "junk";
  }
  const auto again = Open();
  EXPECT_EQ(Read(*again, "key", 0), Block('a'));
  EXPECT_EQ(Read(*again, "key", 3), "");
  EXPECT_EQ(Read(*again, "key", 1), "");
}

TEST_F(BlockStoreTest, Item30_6_ARecordReplacesTheOneBefore) {
  Open()->WriteRecord("key", "first");
  const auto store = Open();
  EXPECT_EQ(store->ReadRecord("key"), "first");
  EXPECT_EQ(store->ReadRecord("other"), std::nullopt);
  store->WriteRecord("key", "");
  EXPECT_EQ(Open()->ReadRecord("key"), "");
  store->WriteRecord("key", std::string(kBlock, 'x'));
  EXPECT_EQ(store->ReadRecord("key"), std::string(kBlock, 'x'));
  store->WriteRecord("key", std::string(kBlock + 1, 'y'));
  EXPECT_EQ(store->ReadRecord("key"), std::string(kBlock, 'x'));
  EXPECT_EQ(Files().size(), 1U);
  EXPECT_EQ(Read(*store, "key", 0), "");
}

TEST_F(BlockStoreTest, Item30_6_ADamagedRecordIsNone) {
  const auto store = Open();
  store->WriteRecord("key", "a record");
  const auto file = Files().front();
  const uint64_t size = std::filesystem::file_size(file);
  for (uint64_t at = 0; at < size; ++at) {
    store->WriteRecord("key", "a record");
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ 1));
    stream.close();
    EXPECT_EQ(store->ReadRecord("key"), std::nullopt) << at;
  }
  store->WriteRecord("key", "a record");
  std::filesystem::resize_file(file, size - 1);
  EXPECT_EQ(store->ReadRecord("key"), std::nullopt);
}

TEST_F(BlockStoreTest, Item30_6_RecordsTakePartInEviction) {
  const auto store = Open(16 * kBlock);
  for (unsigned i = 0; i < 64; ++i) {
    store->WriteRecord("record" + std::to_string(i), Block('r'));
    store->MakeRoom();
  }
  EXPECT_LE(Bytes(), 18 * kBlock);
  EXPECT_EQ(store->ReadRecord("record63"), Block('r'));
}

TEST_F(BlockStoreTest, Item30_6_BlocksBesideADamagedOneCanBeKept) {
  const std::string a = Block('a');
  const std::string b = Block('b');
  Open()->Write("key", 0, {AsBytes(a), AsBytes(b)});
  const auto file = Files().front();
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-static_cast<std::streamoff>(kBlock) - 10, std::ios::end);
  stream.put('x');
  stream.close();
  const auto keeping = *BlockStore::Open(dir_.Path("cache"), 1 << 30,
                                         BlockStore::Damaged::kKept);
  EXPECT_EQ(Read(*keeping, "key", 0), "");
  EXPECT_EQ(Read(*keeping, "key", 1), b);
  EXPECT_EQ(Read(*Open(), "key", 0), "");
  EXPECT_EQ(Read(*keeping, "key", 1), "") << "the file is dropped";
}

}  // namespace
}  // namespace ctxfs
