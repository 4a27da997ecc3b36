// SPDX-License-Identifier: Apache-2.0
#include "core/io/source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>

#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const FileSource> MustOpen(const std::string& path) {
  Result<std::shared_ptr<const FileSource>> source = FileSource::Open(path);
  EXPECT_TRUE(Ok(source)) << path;
  return source ? *source : nullptr;
}

Result<std::string> Read(const Source& source, uint64_t offset, size_t size) {
  std::string bytes(size, '?');
  Status read = source.ReadAt(offset, std::as_writable_bytes(std::span(bytes)),
                              Request());
  if (!read) return std::move(read).error();
  return bytes;
}

size_t OpenDescriptors() {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator("/proc/self/fd"), {}));
}

void SetMtime(const std::string& path, int64_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

TEST(FileSource, ReadsAnyWindow) {
  const TempDir dir;
  const auto source = MustOpen(dir.Write("a", "0123456789"));
  EXPECT_EQ(source->size(), 10U);
  for (size_t offset = 0; offset <= 10; ++offset) {
    for (size_t size = 0; offset + size <= 10; ++size) {
      const Result<std::string> read = Read(*source, offset, size);
      ASSERT_TRUE(Ok(read));
      EXPECT_EQ(*read, std::string("0123456789").substr(offset, size));
    }
  }
  EXPECT_TRUE(Ok(source->CheckUnchanged()));
}

TEST(FileSource, RefusesWhatDoesNotFit) {
  const TempDir dir;
  const auto source = MustOpen(dir.Write("a", "0123456789"));
  EXPECT_TRUE(Fails(Read(*source, 0, 11), Code::kCorrupt, 0));
  EXPECT_TRUE(Fails(Read(*source, 10, 1), Code::kCorrupt, 10));
  EXPECT_TRUE(Fails(Read(*source, 11, 0), Code::kCorrupt, 11));
  EXPECT_TRUE(Fails(Read(*source, UINT64_MAX, 8), Code::kCorrupt));
  EXPECT_TRUE(Ok(Read(*source, 0, 10))) << "such a read changes nothing";
}

TEST(FileSource, KnowsTimeAndTraffic) {
  const TempDir dir;
  const std::string path = dir.Write("a", "0123456789");
  SetMtime(path, 1'700'000'000);
  const auto source = MustOpen(path);
  EXPECT_EQ(source->mtime(), (FileTime{1'700'000'000, 0}));
  const uint64_t before = FileSource::AllBytesRead();
  EXPECT_TRUE(Ok(Read(*source, 2, 5)));
  EXPECT_TRUE(Ok(Read(*source, 0, 10)));
  EXPECT_EQ(FileSource::AllBytesRead() - before, 15U);
}

TEST(FileSource, NoticesEveryChangeAndNeverForgivesIt) {
  struct Case {
    const char* what;
    std::function<void(const TempDir&, const std::string&)> change;
    std::function<void(const TempDir&, const std::string&)> undo;
  };
  const auto restore = [](const TempDir& dir, const std::string& path) {
    fs::remove(path);
    dir.Write("a", "0123456789");
    SetMtime(path, 1000);
  };
  const auto rewrite = [](const TempDir& dir, const std::string& path) {
    dir.Write("a", "0123456789");  // in place: the inode stays
    SetMtime(path, 1000);
  };
  const Case cases[] = {
      {"truncated",
       [](const TempDir&, const std::string& path) {
         fs::resize_file(path, 4);
       },
       rewrite},
      {"appended to",
       [](const TempDir&, const std::string& path) {
         fs::resize_file(path, 11);
       },
       rewrite},
      {"rewritten in its size",
       [](const TempDir& dir, const std::string& path) {
         dir.Write("a", "abcdefghij");
         SetMtime(path, 2000);
       },
       rewrite},
      {"replaced by another of its name",
       [](const TempDir& dir, const std::string& path) {
         const std::string other = dir.Write("b", "0123456789");
         SetMtime(other, 1000);
         fs::rename(path, dir.Path("old"));
         fs::rename(other, path);
       },
       [](const TempDir& dir, const std::string& path) {
         fs::rename(dir.Path("old"), path);
       }},
      {"replaced by a directory",
       [](const TempDir& dir, const std::string& path) {
         fs::rename(path, dir.Path("old"));
         fs::create_directory(path);
       },
       [](const TempDir& dir, const std::string& path) {
         fs::remove(path);
         fs::rename(dir.Path("old"), path);
       }},
      {"unlinked and made anew",
       [&](const TempDir& dir, const std::string& path) { restore(dir, path); },
       [](const TempDir&, const std::string& path) { fs::remove(path); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const TempDir dir;
    const std::string path = dir.Write("a", "0123456789");
    SetMtime(path, 1000);
    const auto by_read = MustOpen(path);
    const auto by_check = MustOpen(path);
    ASSERT_TRUE(Ok(Read(*by_read, 0, 10)));
    ASSERT_TRUE(Ok(by_check->CheckUnchanged()));
    c.change(dir, path);
    EXPECT_TRUE(Fails(Read(*by_read, 0, 4), Code::kStale));
    EXPECT_TRUE(Fails(Read(*by_read, 6, 4), Code::kStale));
    EXPECT_TRUE(Fails(by_check->CheckUnchanged(), Code::kStale));
    c.undo(dir, path);
    EXPECT_TRUE(Fails(Read(*by_read, 0, 4), Code::kStale));
    EXPECT_TRUE(Fails(by_read->CheckUnchanged(), Code::kStale));
    EXPECT_TRUE(Fails(Read(*by_check, 0, 4), Code::kStale));
  }
}

TEST(FileSource, StaysReadableWhenItsNameIsGone) {
  const TempDir dir;
  fs::create_directory(dir.Path("d"));
  const std::string path = dir.Write("d/a", "0123456789");
  const auto source = MustOpen(path);
  fs::remove(path);
  EXPECT_EQ(*Read(*source, 3, 4), "3456");
  EXPECT_TRUE(Ok(source->CheckUnchanged()));
  fs::remove(dir.Path("d"));
  EXPECT_EQ(*Read(*source, 0, 10), "0123456789");
}

TEST(FileSource, FollowsItsFileThroughLinksAndChangesOfDirectory) {
  const TempDir dir;
  const std::string path = dir.Write("a", "0123456789");
  fs::create_symlink("a", dir.Path("link"));
  const fs::path before = fs::current_path();
  fs::current_path(dir.Path(""));
  const auto source = MustOpen("link");
  fs::current_path(before);
  EXPECT_EQ(*Read(*source, 0, 3), "012");
  fs::remove(path);
  dir.Write("a", "abcdefghij");
  EXPECT_TRUE(Fails(Read(*source, 0, 3), Code::kStale))
      << "the daemon changes its directory and must still see this";
}

TEST(FileSource, RefusesWhatIsNotARegularFile) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.Path("fifo").c_str(), 0600), 0);
  fs::create_symlink("nowhere", dir.Path("dangling"));
  for (const std::string& path :
       {dir.Path(""), dir.Path("fifo"), dir.Path("none"), dir.Path("dangling"),
        std::string("/dev/null"), std::string()}) {
    EXPECT_TRUE(Fails(FileSource::Open(path), Code::kIo)) << path;
  }
}

TEST(FileSource, LeaksNoDescriptor) {
  const TempDir dir;
  const std::string path = dir.Write("a", "x");
  ASSERT_EQ(::mkfifo(dir.Path("fifo").c_str(), 0600), 0);
  const size_t before = OpenDescriptors();
  {
    const auto source = MustOpen(path);
    EXPECT_EQ(OpenDescriptors(), before + 1);
    EXPECT_FALSE(FileSource::Open(dir.Path("")).has_value());
    EXPECT_FALSE(FileSource::Open(dir.Path("fifo")).has_value());
    EXPECT_FALSE(FileSource::Open("/dev/null").has_value());
    EXPECT_EQ(OpenDescriptors(), before + 1);
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FileSource, ServesManyThreadsAtOnce) {
  const TempDir dir;
  const std::string bytes = Noise(1 << 16);
  const auto source = MustOpen(dir.Write("a", bytes));
  std::atomic<int> wrong = 0;
  InThreads(8, [&](int thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    for (int i = 0; i < 200; ++i) {
      const size_t offset = random() % bytes.size();
      const size_t size = random() % (bytes.size() - offset);
      const Result<std::string> read = Read(*source, offset, size);
      if (!read || *read != bytes.substr(offset, size)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(MemorySource, ReadsWithinItsBoundsAlone) {
  const MemorySource source("0123456789");
  EXPECT_EQ(*Read(source, 3, 4), "3456");
  EXPECT_EQ(*Read(source, 10, 0), "");
  EXPECT_TRUE(Fails(Read(source, 7, 4), Code::kCorrupt, 7));
  EXPECT_TRUE(Fails(Read(source, UINT64_MAX - 1, 4), Code::kCorrupt));
  EXPECT_EQ(*Read(MemorySource(""), 0, 0), "");
}

TEST(ReadBuffer, ChecksBoundsBeforeItAllocates) {
  const MemorySource source("0123456789");
  const Result<Buffer> all = ReadBuffer(source, 0, 10, "thing", Request());
  ASSERT_TRUE(Ok(all));
  EXPECT_EQ(AsText(all->span()), "0123456789");
  const Result<Buffer> past =
      ReadBuffer(source, 4, uint64_t{1} << 60, "thing", Request());
  ASSERT_TRUE(Fails(past, Code::kCorrupt, 4));
  EXPECT_NE(past.error().what.find("thing"), std::string::npos);
}

}  // namespace
}  // namespace ctxfs
