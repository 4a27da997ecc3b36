// SPDX-License-Identifier: Apache-2.0
#include "core/io/spill_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/io/descriptors.h"
#include "tests/unit/testing/compress.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/threads.h"

namespace ctxfs {
namespace {

using Part = std::shared_ptr<const SpillFile::Part>;

/// A file that may take `most` bytes.
class Spilled {
 public:
  explicit Spilled(uint64_t most)
      : file(*SpillFile::Make(directory_.Path(""), most)) {}

  Part Reserve(uint64_t size) const {
    Result<Part> part = file->Reserve(size);
    return part ? *part : nullptr;
  }
  /// What is in the directory.
  bool Empty() const { return std::filesystem::is_empty(directory_.Path("")); }

 private:
  TempDir directory_;

 public:
  std::shared_ptr<SpillFile> file;
};

std::string ReadAll(const SpillFile::Part& part) {
  std::string bytes(part.size(), '?');
  EXPECT_TRUE(Ok(part.Read(0, std::as_writable_bytes(std::span(bytes)))));
  return bytes;
}

/// A file of its own with these bytes.
Fd FileOf(const std::string& bytes) {
  Fd file(::memfd_create("ctxfs", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), bytes.data(), bytes.size()),
            static_cast<ssize_t>(bytes.size()));
  return file;
}

TEST(SpillFile, TakesAFileThatItHasRoomFor) {
  const Spilled spilled(10);
  Fd first = FileOf("abcdefgh");
  Result<Part> adopted = spilled.file->Adopt(first, 8);
  ASSERT_TRUE(Ok(adopted));
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(ReadAll(**adopted), "abcdefgh");
  EXPECT_EQ(spilled.file->bytes(), 8U);
  Fd second = FileOf("xyz");
  EXPECT_EQ(spilled.file->Adopt(second, 3).error().sys_errno, ENOSPC);
  EXPECT_TRUE(second.ok()) << "may be tried again";
  EXPECT_EQ(spilled.file->bytes(), 8U);
  adopted = Part();
  EXPECT_TRUE(Ok(spilled.file->Adopt(second, 3)));
  EXPECT_EQ(spilled.file->bytes(), 0U);
}

TEST(SpillFile, TakesNoFileWithoutADescriptor) {
  const Spilled spilled(10);
  Fd file = FileOf("abc");
  Descriptors::SetMost(Descriptors::held());
  EXPECT_EQ(spilled.file->Adopt(file, 3).error().sys_errno, EMFILE);
  Descriptors::SetMost(UINT64_MAX);
  EXPECT_TRUE(file.ok());
  EXPECT_EQ(spilled.file->bytes(), 0U);
}

TEST(SpillFile, KeepsPartsApart) {
  const Spilled spilled(1 << 20);
  std::vector<Part> parts;
  std::vector<std::string> texts;
  for (const size_t size : {1U, 4096U, 5000U, 70'000U}) {
    parts.push_back(spilled.Reserve(size));
    texts.push_back(Noise(size, static_cast<uint32_t>(size)));
    ASSERT_NE(parts.back(), nullptr);
    EXPECT_TRUE(Ok(parts.back()->Write(0, AsBytes(texts.back()))));
  }
  parts.erase(parts.begin() + 1);
  texts.erase(texts.begin() + 1);
  parts.push_back(spilled.Reserve(4000));  // in the gap
  texts.push_back(Noise(4000));
  EXPECT_TRUE(Ok(parts.back()->Write(0, AsBytes(texts.back().substr(0, 9)))));
  EXPECT_TRUE(Ok(parts.back()->Write(9, AsBytes(texts.back().substr(9)))));
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_TRUE(ReadAll(*parts[i]) == texts[i]) << i;
  }
  EXPECT_EQ(spilled.file->bytes(), 1U + 5000 + 70'000 + 4000);
  EXPECT_TRUE(spilled.Empty()) << "it has no name";
}

uint64_t FreeBytes() {
  return std::filesystem::space(::testing::TempDir()).available;
}

TEST(SpillFile, KnowsWhatItCouldHoldWithoutItsParts) {
  const Spilled spilled(10'000);
  const Part most = spilled.Reserve(10'000);
  EXPECT_NE(most, nullptr);
  EXPECT_TRUE(Ok(spilled.file->CouldHold(10'000)));
  EXPECT_TRUE(Fails(spilled.file->CouldHold(10'001), Code::kIo));
}

TEST(SpillFile, TakesNoMoreThanItMay) {
  const Spilled spilled(10'000);
  Part most = spilled.Reserve(10'000);
  EXPECT_NE(most, nullptr);
  const Result<Part> more = spilled.file->Reserve(1);
  EXPECT_TRUE(Fails(more, Code::kIo));
  EXPECT_EQ(more.error().sys_errno, ENOSPC);
  most.reset();
  EXPECT_EQ(spilled.file->bytes(), 0U);
  EXPECT_EQ(spilled.Reserve(10'001), nullptr);
  EXPECT_EQ(spilled.Reserve(UINT64_MAX), nullptr);
  EXPECT_NE(spilled.Reserve(10'000), nullptr);
}

TEST(SpillFile, SaysThatTheDiskIsTooSmall) {
  const Spilled spilled(UINT64_MAX);
  for (const uint64_t size :
       {FreeBytes() + FreeBytes() / 2, uint64_t{1} << 55U}) {
    const Result<Part> part = spilled.file->Reserve(size);
    EXPECT_TRUE(Fails(part, Code::kIo));
    EXPECT_EQ(part.error().sys_errno, ENOSPC);
    EXPECT_EQ(spilled.file->bytes(), 0U);
    EXPECT_TRUE(Fails(spilled.file->CouldHold(size), Code::kIo));
  }
}

TEST(SpillFile, CannotBeMadeWhereNoFileCanBe) {
  const TempDir directory;
  const auto missing = SpillFile::Make(directory.Path("missing"), 1);
  EXPECT_TRUE(Fails(missing, Code::kIo));
  EXPECT_NE(missing.error().what.find("missing"), std::string::npos);
  EXPECT_TRUE(Fails(SpillFile::Make("/proc/self", 1), Code::kIo));
}

/// Makes files in a directory; none where that is not set.
class Maker final : public FileMaker {
 public:
  Result<Fd> Make(uint64_t size) override {
    if (!directory.ok()) return Error{Code::kIo, "no directory"};
    return MakeUnnamed(directory, size);
  }
  Fd directory{-1};
};

TEST(SpillFile, PartsAreFilesOfTheirOwnWhereTheseCanBeMade) {
  const Spilled spilled(10'000);
  Maker maker;
  spilled.file->MakeFilesBy(maker);
  EXPECT_EQ(spilled.Reserve(1000)->descriptor(), -1) << "a part of one file";
  maker.directory = Fd(::open(::testing::TempDir().c_str(), O_RDONLY));
  Part part = spilled.Reserve(6000);
  ASSERT_NE(part, nullptr);
  struct stat st {};
  ASSERT_EQ(::fstat(part->descriptor(), &st), 0);
  EXPECT_EQ(st.st_size, 6000);
  EXPECT_EQ(st.st_nlink, 0U);
  const std::string text = Noise(6000);
  EXPECT_TRUE(Ok(part->Write(0, AsBytes(text.substr(0, 10)))));
  EXPECT_TRUE(Ok(part->Write(10, AsBytes(text.substr(10)))));
  EXPECT_TRUE(ReadAll(*part) == text);
  EXPECT_EQ(spilled.file->bytes(), 6000U);
  EXPECT_EQ(spilled.Reserve(4001), nullptr);
  part.reset();
  EXPECT_EQ(spilled.file->bytes(), 0U);
}

TEST(SpillFile, LendsNoMoreThanItMay) {
  Maker maker;
  maker.directory = Fd(::open(::testing::TempDir().c_str(), O_RDONLY));
  const auto file = SpillFile::OfFiles("there", 10'000, maker);
  const Part one = *file->Reserve(3000);
  const Part other = *file->Reserve(3000);
  SpillFile::Loan loan = file->Lend(one, 5000);
  ASSERT_NE(loan, nullptr);
  EXPECT_NE(file->Lend(one, 5000), nullptr) << "the same once more";
  EXPECT_EQ(file->Lend(other, 5000), nullptr);
  EXPECT_TRUE(file->IsLent(*one));
  EXPECT_EQ(file->lent(), 3000U);
  loan.reset();
  EXPECT_FALSE(file->IsLent(*one));
  EXPECT_NE(file->Lend(other, 5000), nullptr);
}

TEST(SpillFile, IsSafeForManyThreads) {
  const Spilled spilled(1 << 20);
  InThreads(8, [&](int thread) {
    for (int i = 0; i < 50; ++i) {
      const Part part = spilled.Reserve(1000);
      const std::string text(1000, static_cast<char>('a' + thread));
      EXPECT_TRUE(Ok(part->Write(0, AsBytes(text))));
      EXPECT_TRUE(ReadAll(*part) == text);
    }
  });
  EXPECT_EQ(spilled.file->bytes(), 0U);
}

TEST(SpillFile, IsWhereTemporaryFilesAre) {
  ::setenv("TMPDIR", "/somewhere", 1);
  EXPECT_EQ(SpillDirectory(), "/somewhere");
  ::setenv("TMPDIR", "", 1);
  EXPECT_EQ(SpillDirectory(), "/var/tmp");
  ::unsetenv("TMPDIR");
  EXPECT_EQ(SpillDirectory(), "/var/tmp");
}

}  // namespace
}  // namespace ctxfs
