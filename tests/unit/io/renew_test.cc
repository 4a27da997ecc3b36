// SPDX-License-Identifier: Apache-2.0
//
// Sources that watch ctime, and are renewed when it alone has changed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/io/digesting_source.h"
#include "core/io/directory.h"
#include "core/io/source.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;

const SourceOptions kWatch{AccessScope::kMounter, /*watch_ctime=*/true};

std::string Text(const Source& source) {
  const Result<Buffer> all =
      ReadBuffer(source, 0, source.size(), "file", Request());
  EXPECT_TRUE(Ok(all));
  return all ? std::string(AsText(all->span())) : "";
}

/// Writes `bytes` over a file in place and sets its mtime back.
void RewriteInPlace(const std::string& path, const std::string& bytes) {
  struct stat before {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  const int fd = ::open(path.c_str(), O_WRONLY);
  ASSERT_EQ(::pwrite(fd, bytes.data(), bytes.size(), 0),
            static_cast<ssize_t>(bytes.size()));
  ::close(fd);
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

/// ctime cannot be set; it is coarse on older kernels.
void PastTheTick() { ::usleep(20'000); }

class Renew : public testing::Test {
 protected:
  Renew() : path_(dir_.Write("a", "0123456789")) {
    source_ = *OpenSource(path_, kWatch);
    PastTheTick();
  }

  /// Expects that `source` is stale and gives what it is renewed as.
  static std::shared_ptr<const Source> Renewed(const Source& source) {
    EXPECT_TRUE(Fails(source.CheckUnchanged(), Code::kStale));
    Result<std::shared_ptr<const Source>> renewed = source.Renew();
    EXPECT_TRUE(Ok(renewed));
    EXPECT_TRUE(Ok((*renewed)->CheckUnchanged()));
    EXPECT_TRUE(Fails(source.CheckUnchanged(), Code::kStale)) << "for good";
    return *renewed;
  }

  const TempDir dir_;
  const std::string path_;
  std::shared_ptr<const Source> source_;
};

TEST_F(Renew, ChmodRenameAndLinkChangeNothing) {
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  auto renewed = Renewed(*source_);
  EXPECT_EQ(Text(*renewed), "0123456789");
  PastTheTick();
  fs::create_hard_link(path_, dir_.Path("b"));
  renewed = Renewed(*renewed);
  PastTheTick();
  fs::rename(path_, dir_.Path("c"));
  renewed = Renewed(*renewed);
  PastTheTick();
  fs::remove(dir_.Path("b"));
  fs::remove(dir_.Path("c"));
  renewed = Renewed(*renewed);
  EXPECT_EQ(Text(*renewed), "0123456789") << "without a name";
}

TEST_F(Renew, AWriteThatSetsMtimeBackIsNoticed) {
  RewriteInPlace(path_, "abcdefghij");
  EXPECT_TRUE(
      Fails(ReadBuffer(*source_, 0, 10, "file", Request()), Code::kStale));
  EXPECT_EQ(Text(*Renewed(*source_)), "abcdefghij");
}

TEST_F(Renew, AnyOtherChangeIsForGood) {
  const auto touched = *OpenSource(path_, kWatch);
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  EXPECT_TRUE(Fails(touched->CheckUnchanged(), Code::kStale));
  fs::resize_file(path_, 4);
  EXPECT_TRUE(Fails(touched->Renew(), Code::kStale)) << "touched, then cut";
  EXPECT_TRUE(Fails(source_->CheckUnchanged(), Code::kStale));
  EXPECT_TRUE(Fails(source_->Renew(), Code::kStale));

  const std::string other = dir_.Write("b", "0123456789");
  const auto replaced = *OpenSource(other, kWatch);
  fs::remove(other);
  dir_.Write("b", "0123456789");
  EXPECT_TRUE(Fails(replaced->CheckUnchanged(), Code::kStale));
  EXPECT_TRUE(Fails(replaced->Renew(), Code::kStale));
}

// docs/tree.md, promise 4: only deleted, or replaced as well.
TEST_F(Renew, WhatTakesItsNameLaterReplacesIt) {
  fs::rename(path_, dir_.Path("renamed"));
  const auto renewed = Renewed(*source_);
  EXPECT_EQ(Text(*renewed), "0123456789");
  dir_.Write("a", "0123456789");
  EXPECT_TRUE(Fails(renewed->CheckUnchanged(), Code::kStale));
  EXPECT_TRUE(Fails(renewed->Renew(), Code::kStale));

  const std::string other = dir_.Write("b", "0123456789");
  const auto first = *OpenSource(other, kWatch);
  PastTheTick();
  fs::remove(other);
  const auto removed = Renewed(*first);
  EXPECT_EQ(Text(*removed), "0123456789");
  dir_.Write("b", "0123456789");
  EXPECT_TRUE(Fails(removed->CheckUnchanged(), Code::kStale));
}

TEST_F(Renew, WithoutWatchingCtimeItDoesNotCount) {
  const auto source = *OpenSource(path_);
  ASSERT_EQ(::chmod(path_.c_str(), 0400), 0);
  EXPECT_EQ(Text(*source), "0123456789");
  fs::remove(path_);
  EXPECT_EQ(Text(*source), "0123456789");
  EXPECT_TRUE(Fails(source->Renew(), Code::kStale));
}

// docs/tree.md, promise 4: a container that is merely deleted stays readable.
TEST_F(Renew, FilesBesideItMayHaveLostTheirNames) {
  dir_.Write("beside", "b");
  const auto beside = *source_->OpenBeside("beside", Request());
  fs::remove(dir_.Path("beside"));
  fs::remove(path_);
  const auto renewed = Renewed(*source_);
  const auto again = renewed->OpenBeside("beside", Request());
  ASSERT_TRUE(Ok(again));
  EXPECT_EQ(Text(**again), "b");
  EXPECT_TRUE(Fails(source_->OpenBeside("beside", Request()), Code::kNotFound));
  EXPECT_TRUE(Fails(renewed->OpenBeside("other", Request()), Code::kNotFound));
}

TEST_F(Renew, OfADirectoryThatIsBeingRemoved) {
  fs::create_directories(dir_.Path("d/sub"));
  dir_.Write("d/x", "x");
  dir_.Write("d/sub/y", "y");
  const auto directory = *OpenSource(dir_.Path("d"), kWatch);
  EXPECT_EQ(directory->List(Request())->size(), 2U);
  const auto x = *directory->OpenBeside("x", Request());
  const auto y = *directory->OpenBeside("sub/y", Request());
  EXPECT_EQ((*directory->OpenDirectoryBeside("sub", Request()))
                ->List(Request())
                ->size(),
            1U);
  fs::remove_all(dir_.Path("d"));
  const auto renewed = directory->Renew();
  ASSERT_TRUE(Ok(renewed));
  EXPECT_EQ((*renewed)->List(Request())->size(), 2U);
  EXPECT_EQ(Text(**(*renewed)->OpenBeside("x", Request())), "x");
  EXPECT_EQ(Text(**(*renewed)->OpenBeside("sub/y", Request())), "y");
  const auto sub = (*renewed)->OpenDirectoryBeside("sub", Request());
  ASSERT_TRUE(Ok(sub));
  EXPECT_EQ((*sub)->List(Request())->size(), 1U);
  // Another directory of its name.
  fs::create_directory(dir_.Path("d"));
  EXPECT_TRUE(Fails((*renewed)->Renew(), Code::kStale));
}

TEST_F(Renew, AMemorySourceCannotBeRenewed) {
  EXPECT_TRUE(Fails(MemorySource("x").Renew(), Code::kStale));
}

std::optional<uint64_t> DigestOf(
    const std::shared_ptr<const Source>& source,
    const std::function<void(const Source&)>& read) {
  DigestingSource digesting(source);
  read(digesting);
  EXPECT_EQ(digesting.opening_digest(), std::nullopt);
  digesting.Seal();
  const auto digest = digesting.opening_digest();
  EXPECT_TRUE(Ok(ReadBuffer(digesting, 0, digesting.size(), "all", Request())));
  EXPECT_EQ(digesting.opening_digest(), digest) << "later reads do not count";
  return digest;
}

TEST(DigestingSource, DigestsWhatIsReadAndFromWhere) {
  const auto read = [](uint64_t offset, uint64_t size) {
    return [=](const Source& source) {
      EXPECT_TRUE(Ok(ReadBuffer(source, offset, size, "some", Request())));
    };
  };
  const auto source = std::make_shared<MemorySource>("01230123");
  const auto digest = DigestOf(source, read(0, 4));
  EXPECT_EQ(DigestOf(std::make_shared<MemorySource>("0123abcd"), read(0, 4)),
            digest);
  EXPECT_NE(DigestOf(std::make_shared<MemorySource>("012x0123"), read(0, 4)),
            digest);
  EXPECT_NE(DigestOf(source, read(4, 4)), digest);
  EXPECT_NE(DigestOf(source, read(0, 3)), digest);
}

TEST(DigestingSource, TakesTheFirstReadForAProbe) {
  const auto digest = [](char last, int reads) {
    std::string bytes(100, 'a');
    bytes.back() = last;
    return DigestOf(
        std::make_shared<MemorySource>(bytes), [reads](const Source& source) {
          for (int i = 0; i < reads; ++i) {
            EXPECT_TRUE(Ok(ReadBuffer(source, 0, 100, "head", Request())));
          }
        });
  };
  EXPECT_EQ(digest('a', 1), digest('b', 1));
  EXPECT_NE(digest('a', 2), digest('b', 2));
}

TEST(DigestingSource, DigestsNamesAndFilesBeside) {
  const TempDir dir;
  dir.Write("b", "b");
  const auto source = *OpenSource(dir.Write("a", "a"));
  const auto beside = [](const std::string& name) {
    return [=](const Source& from) {
      const auto opened = from.OpenBeside(name, Request());
      if (opened) (void)ReadBuffer(**opened, 0, 1, "b", Request());
    };
  };
  const auto digest = DigestOf(source, beside("b"));
  EXPECT_EQ(DigestOf(source, beside("b")), digest);
  EXPECT_NE(DigestOf(source, beside("c")), digest);
  fs::remove(dir.Path("b"));
  const auto missing = DigestOf(source, beside("b"));
  EXPECT_NE(missing, digest);
  dir.Write("b", "c");
  EXPECT_NE(DigestOf(source, beside("b")), digest);

  const auto list = [](const Source& from) { (void)from.List(Request()); };
  const auto names = [&] {
    DigestingSource digesting(*OpenSource(dir.Path("")));
    list(digesting);
    digesting.Seal();
    return digesting.opening_digest();
  };
  const auto two = names();
  EXPECT_EQ(names(), two);
  dir.Write("d", "");
  EXPECT_NE(names(), two);
}

}  // namespace
}  // namespace ctxfs
