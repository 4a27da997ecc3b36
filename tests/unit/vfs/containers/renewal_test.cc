// SPDX-License-Identifier: Apache-2.0
//
// What a namespace does after a change of ctime alone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/vfs/containers/open_container.h"
#include "core/vfs/file_handle.h"
#include "core/vfs/namespace.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

OpenOptions Watching() {
  OpenOptions options;
  options.watch_ctime = true;
  return options;
}

/// A container with an entry, one that is a container, and a compressed one.
std::string TopBytes(std::string_view text) {
  const std::string inner = BuildShard({{Raw("in", std::string(text))}});
  return BuildShard({{Raw("a", std::string(text)), Raw("inner.shard", inner),
                      ZstdEntry("z", Prose(5000))}});
}

class RenewalTest : public testing::Test {
 protected:
  explicit RenewalTest(const std::string& bytes = TopBytes("hello"))
      : path_(dir_.Write("top", bytes)) {
    auto container = OpenContainerFile(path_, Watching());
    EXPECT_TRUE(Ok(container));
    files_ = std::make_unique<Namespace>(
        Shown{.container = *container, .open = Watching()});
  }

  Inode Walk(std::string_view path) {
    Inode inode = kRootInode;
    while (!path.empty()) {
      const size_t slash = std::min(path.find('/'), path.size());
      const auto found = files_->Lookup(inode, path.substr(0, slash), cache_);
      EXPECT_TRUE(Ok(found)) << path;
      EXPECT_TRUE(found && *found) << path;
      if (!found || !*found) return 0;
      inode = (*found)->inode;
      path.remove_prefix(std::min(slash + 1, path.size()));
    }
    return inode;
  }

  std::unique_ptr<FileHandle> Open(std::string_view path) {
    const Inode inode = Walk(path);
    Result<OpenFile> file = files_->Open(inode, cache_);
    EXPECT_TRUE(Ok(file)) << path;
    if (!file) return nullptr;
    return std::make_unique<FileHandle>(*files_, inode, std::move(*file));
  }

  Result<std::string> Read(FileHandle& handle) {
    Window window;
    const Status read = handle.Read(*handle.file(), 0, 1 << 20, cache_, window);
    if (!read) return read.error();
    std::string text;
    for (const Bytes slice : window.slices()) text += AsText(slice);
    return text;
  }

  /// Changes ctime, past its granularity on older kernels.
  void Touch() const {
    ::usleep(20'000);
    struct stat st {};
    ASSERT_EQ(::stat(path_.c_str(), &st), 0);
    ASSERT_EQ(::chmod(path_.c_str(), (st.st_mode ^ 0010) & 0777), 0);
  }

  void Rewrite(const std::string& bytes) const {
    ::usleep(20'000);
    struct stat st {};
    ASSERT_EQ(::stat(path_.c_str(), &st), 0);
    ASSERT_EQ(static_cast<size_t>(st.st_size), bytes.size());
    const int fd = ::open(path_.c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0), st.st_size);
    ::close(fd);
    const timespec times[] = {st.st_atim, st.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  const TempDir dir_;
  const std::string path_;
  BlockCache cache_{1 << 20};
  std::unique_ptr<Namespace> files_;
};

TEST_F(RenewalTest, OpenFilesGoOn) {
  const auto a = Open("a");
  const auto z = Open("z");
  const auto in = Open("views/inner.shard~dir/in");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(*Read(*a), "hello");
    EXPECT_EQ(*Read(*z), Prose(5000));
    EXPECT_EQ(*Read(*in), "hello");
    Touch();
  }
  fs::remove(path_);
  EXPECT_EQ(*Read(*a), "hello");
  EXPECT_EQ(*Read(*in), "hello");
  EXPECT_EQ(*Read(*Open("z")), Prose(5000));
}

TEST_F(RenewalTest, EverythingIsVerifiedAgain) {
  const auto passed = [&] { return cache_.stats().passed; };
  const auto verdict = [&] {
    return (*files_->Describe(Walk("a"), cache_))->verified;
  };
  const auto a = Open("a");
  EXPECT_EQ(*Read(*a), "hello");
  EXPECT_EQ(verdict(), "yes");
  const uint64_t before = passed();
  EXPECT_EQ(*Read(*a), "hello");
  EXPECT_EQ(passed(), before);
  Touch();
  EXPECT_EQ(verdict(), "no");
  EXPECT_EQ(*Read(*a), "hello");
  EXPECT_EQ(passed(), before + 1);
}

TEST_F(RenewalTest, PagesAreDroppedOnceAtTheNextOpen) {
  const auto same_pages = [&](std::string_view path) {
    const Inode inode = Walk(path);
    const Result<OpenFile> file = files_->Open(inode, cache_);
    file->NoteOpened(inode);
    return file->same_pages;
  };
  EXPECT_TRUE(same_pages("a"));
  EXPECT_TRUE(same_pages("views/inner.shard~dir/in"));
  Touch();
  EXPECT_FALSE(same_pages("a"));
  EXPECT_TRUE(same_pages("a"));
  EXPECT_FALSE(same_pages("views/inner.shard~dir/in"));
  EXPECT_TRUE(same_pages("views/inner.shard~dir/in"));
  EXPECT_FALSE(same_pages("z"));
}

TEST_F(RenewalTest, ChangedBytesDoNotPass) {
  const auto a = Open("a");
  const auto z = Open("z");
  EXPECT_EQ(*Read(*a), "hello");
  std::string changed = TopBytes("hello");
  changed.replace(changed.find("hello"), 5, "jello");
  Rewrite(changed);
  EXPECT_TRUE(Fails(Read(*a), Code::kChecksum));
  EXPECT_EQ(*Read(*z), Prose(5000));
}

TEST_F(RenewalTest, AnotherContainerIsStaleForGood) {
  const auto a = Open("a");
  const auto z = Open("z");
  Rewrite(TopBytes("jello"));
  EXPECT_TRUE(Fails(Read(*a), Code::kStale));
  EXPECT_TRUE(Fails(Read(*z), Code::kStale));
  EXPECT_TRUE(Fails(files_->Open(Walk("a"), cache_), Code::kStale));
  Rewrite(TopBytes("hello"));
  EXPECT_TRUE(Fails(Read(*a), Code::kStale)) << "it may have been read between";
}

// They were made when they were opened, and no read of them asks the file.
TEST_F(RenewalTest, DocumentsAreAsStaleAsTheirContainer) {
  std::vector<std::pair<std::unique_ptr<FileHandle>, std::string>> all;
  for (const char* path : {".ctxfs/info.json", ".ctxfs/index.json",
                           "views/inner.shard~dir/.ctxfs/index.json"}) {
    std::unique_ptr<FileHandle> handle = Open(path);
    Result<std::string> text = Read(*handle);
    ASSERT_TRUE(Ok(text)) << path;
    all.emplace_back(std::move(handle), *std::move(text));
  }
  Touch();
  for (const auto& [handle, text] : all) EXPECT_EQ(*Read(*handle), text);
  Rewrite(TopBytes("jello"));
  for (const auto& [handle, text] : all) {
    EXPECT_TRUE(Fails(Read(*handle), Code::kStale)) << text;
    EXPECT_TRUE(Fails(handle->Verify(*handle->file(), cache_), Code::kStale))
        << text;
  }
}

/// info.json says what is wrong with each tensor, and so reads the file.
class RenewalOfTensors : public RenewalTest {
 protected:
  RenewalOfTensors()
      : RenewalTest(
            BuildShard({.entries = {Raw("a", "no tensor")}, .role = 6})) {}
};

TEST_F(RenewalOfTensors, DocumentsDoNotSayThatTheFileIsStale) {
  const auto looked_up = [&] {
    const auto found = files_->Lookup(Walk(".ctxfs"), "info.json", cache_);
    return (*found)->attributes.size;
  };
  const Inode info = Walk(".ctxfs/info.json");
  const std::string text = *Read(*Open(".ctxfs/info.json"));
  Touch();
  EXPECT_EQ(looked_up(), text.size());
  Touch();
  EXPECT_EQ(files_->Examine(info, cache_)->size, text.size());
  Touch();
  EXPECT_EQ(*Read(*Open(".ctxfs/info.json")), text);
}

/// A directory with a container that cannot be opened.
class RenewalOfDamage : public RenewalTest {
 protected:
  RenewalOfDamage() {
    Rewrite(Damaged("hello"));
    files_ = std::make_unique<Namespace>(
        Shown{.mirror = MirrorOf(dir_.Path("")), .open = Watching()});
  }

  static std::string Damaged(std::string_view text) {
    std::string bytes = TopBytes(text);
    Poke(bytes, 40, uint64_t{UINT64_MAX});  // where the file ends
    return bytes;
  }
};

/// The inode of a directory's name as a listing gives it.
Inode Listed(const Namespace& files, Inode directory, const std::string& wanted,
             BlockCache& cache) {
  const auto listing = files.OpenDirectory(directory, cache);
  EXPECT_TRUE(Ok((*listing)->Rewind(cache)));
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    const auto name = (*listing)->At(i, /*attributes=*/false, cache);
    if (name && name->name == wanted) return name->inode;
  }
  return 0;
}

TEST_F(RenewalTest, WhatIsOpenedWithinIsOpenedAnewAsWell) {
  const Inode inner = Walk("views/inner.shard~dir");
  Touch();
  EXPECT_TRUE(Ok(files_->OpenDirectory(inner, cache_)));
  EXPECT_EQ(*Read(*Open("views/inner.shard~dir/in")), "hello");
  const Inode in = Walk("views/inner.shard~dir/in");
  Touch();
  EXPECT_TRUE(Ok(files_->Examine(in, cache_)));
  EXPECT_EQ((*files_->Describe(in, cache_))->verified, "no");
}

// The kernel would take an empty answer for the end of the file.
TEST_F(RenewalOfDamage, APlainFileThatHasGrownDoesNotEndWhereItDid) {
  dir_.Write("plain", "0123456789");
  const auto plain = Open("plain");
  Window window;
  EXPECT_TRUE(Ok(plain->Read(*plain->file(), 10, 10, cache_, window)));
  EXPECT_TRUE(window.slices().empty());
  dir_.Write("plain", "0123456789abcdefghij");
  EXPECT_TRUE(Ok(plain->Read(*plain->file(), 10, 10, cache_, window)));
  ASSERT_EQ(window.slices().size(), 1U);
  EXPECT_EQ(AsText(window.slices().front()), "abcdefghij");
}

TEST_F(RenewalOfDamage, ListsARetiredInodeAsLookUpsGiveIt) {
  const Inode before = Walk("top");
  EXPECT_EQ(Listed(*files_, kRootInode, "top", cache_), before);
  const auto info = Open("top/.ctxfs/info.json");
  Rewrite(Damaged("jello"));
  std::string other = Damaged("jello");
  other[5] = 2;
  Rewrite(other);
  EXPECT_TRUE(Fails(Read(*info), Code::kStale));
  EXPECT_EQ(Listed(*files_, kRootInode, "top", cache_), Walk("top"));
  const Inode now = Walk("top");
  EXPECT_NE(now, before);
  files_->Forget(before, UINT64_MAX);
  EXPECT_EQ(Listed(*files_, kRootInode, "top", cache_), now);
  EXPECT_EQ(Walk("top"), now);
}

TEST_F(RenewalOfTensors, ListsNoDirectoryThatHoldsNothing) {
  const auto root = files_->OpenDirectory(kRootInode, cache_);
  const auto names = [&] {
    EXPECT_TRUE(Ok((*root)->Rewind(cache_)));
    std::vector<std::string> all;
    for (uint64_t i = 0; i < (*root)->count(); ++i) {
      const auto name = (*root)->At(i, /*attributes=*/false, cache_);
      if (name) all.push_back(name->name);
    }
    return all;
  };
  const std::vector<std::string> before = names();
  EXPECT_EQ(std::count(before.begin(), before.end(), "tensors"), 0);
  Touch();
  EXPECT_EQ(names(), before);
}

TEST_F(RenewalOfDamage, IsStaleOnceOtherBytesAreDamaged) {
  const auto info = Open("top/.ctxfs/info.json");
  const std::string text = *Read(*info);
  EXPECT_NE(text.find("\"error\""), text.npos) << text;
  Touch();
  EXPECT_EQ(*Read(*info), text);
  std::string other = Damaged("hello");
  other[5] = 2;  // of another role
  Rewrite(other);
  EXPECT_TRUE(Fails(Read(*info), Code::kStale));
}

TEST_F(RenewalTest, HappensOnceForAllWhoWait) {
  const auto a = Open("a");
  const auto z = Open("z");
  std::atomic<int> wrong = 0;
  std::atomic<bool> stop = false;
  std::thread toucher([&] {
    for (int i = 0; i < 30; ++i) {
      struct stat st {};
      ::stat(path_.c_str(), &st);
      ::chmod(path_.c_str(), (st.st_mode ^ 0010) & 0777);
      ::usleep(20'000);
    }
    stop = true;
  });
  InThreads(4, [&](int thread) {
    while (!stop) {
      const Result<std::string> read = Read(thread % 2 == 0 ? *a : *z);
      if (!read || *read != (thread % 2 == 0 ? "hello" : Prose(5000))) ++wrong;
    }
  });
  toucher.join();
  EXPECT_EQ(wrong, 0);
}

TEST(OfAStaleContainer, NothingIsOpenedOrMeasured) {
  const auto source =
      std::make_shared<FaultySource>(BuildShard({{Raw("a", "hello")}}));
  const ContainerResult shard = OpenContainer(source, {});
  ASSERT_TRUE(Ok(shard));
  BlockCache cache(1 << 20);
  const Namespace files(
      {.container = *shard,
       .name = "x",
       .stats = TextFile("stats", "S", Role::kMetadata, /*live=*/true)});
  const auto inode = [&](Inode directory, std::string_view name) {
    return (**files.Lookup(directory, name, cache)).inode;
  };
  const Inode x = inode(kRootInode, "x");
  const Inode a = inode(x, "a");
  const Inode metadata = inode(x, ".ctxfs");
  const Inode info = inode(metadata, "info.json");
  const Inode own = inode(inode(kRootInode, ".ctxfs"), "stats");
  EXPECT_EQ(*ReadAll(files.Open(a, cache)->content, cache), "hello");
  source->GoStaleAfter(0);
  EXPECT_TRUE(Fails(files.Open(a, cache), Code::kStale));
  EXPECT_TRUE(Fails(files.Open(info, cache), Code::kStale));
  // Its size is that of what it says, which would be of a stale container.
  EXPECT_TRUE(Fails(files.Lookup(metadata, "info.json", cache), Code::kStale));
  EXPECT_TRUE(Fails(files.Examine(info, cache), Code::kStale));
  EXPECT_EQ(*ReadAll(files.Open(own, cache)->content, cache), "S")
      << "the mount's own lives on";
}

TEST(PageLedger, TrustsAllPagesUntilTheContainerIsRenewed) {
  PageLedger pages;
  EXPECT_TRUE(pages.Of(1).good);
  pages.NoteOpened(1, pages.Of(1));
  EXPECT_TRUE(pages.Of(2).good);
  pages.Renew();
  EXPECT_FALSE(pages.Of(1).good);
  pages.NoteOpened(1, pages.Of(1));
  EXPECT_TRUE(pages.Of(1).good);
  EXPECT_FALSE(pages.Of(2).good);
  pages.Renew();
  EXPECT_FALSE(pages.Of(1).good);
}

TEST(PageLedger, ForgetsAnOpenThatBeganBeforeTheContainerWasRenewed) {
  PageLedger pages;
  pages.Renew();
  const PageLedger::Verdict before = pages.Of(1);
  pages.Renew();
  pages.NoteOpened(1, before);
  EXPECT_FALSE(pages.Of(1).good);
}

}  // namespace
}  // namespace ctxfs
