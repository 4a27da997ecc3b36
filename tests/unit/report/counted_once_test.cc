// SPDX-License-Identifier: Apache-2.0
#include "core/report/counted_once.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/container/interfaces/has_parts.h"
#include "core/io/directory.h"
#include "core/io/source.h"
#include "core/report/container_summary.h"
#include "core/report/index_verdict.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/temp_dir.h"

namespace ctxfs {
namespace {

/// Opens the file with that number, of 100 bytes, which tests open several
/// times.
std::shared_ptr<const Source> FileOfNumber(uint64_t number) {
  static const TempDir directory;
  const std::string name = std::to_string(number);
  if (!std::filesystem::exists(directory.Path(name))) {
    directory.Write(name, std::string(100, 'x'));
  }
  return *OpenSource(directory.Path(name));
}

/// A container whose entries are arrays of 10 elements in `files`.
class InFiles final : public Container, public HasParts {
 public:
  InFiles(uint64_t own, std::vector<uint64_t> files)
      : Container(FileOfNumber(own)) {
    for (const uint64_t file : files) {
      files_.push_back(FileOfNumber(file));
    }
  }
  using Container::NeedMore;
  using Container::Warn;

  void AddInfo(Json& info, const ReadContext& /*context*/) const override {
    info["format"] = "fake";
  }
  std::vector<std::string> PartsBeside(
      const ReadContext& /*context*/) const override {
    return {};
  }
  const Source* FileOf(uint32_t entry) const override {
    return files_[entry].get();
  }
  Tables Files() const override {
    return {
        MakeTable({.placement = {.role = Role::kEntries},
                   .count = static_cast<uint32_t>(files_.size()),
                   .path = &UnnamedEntryPath,
                   .open = [](uint32_t, const ReadContext&) -> Result<Content> {
                     return TextContent("");
                   },
                   .facts =
                       [this](uint32_t entry) {
                         FileFacts facts{4};
                         if (entry < damaged) {
                           facts.fault = Error{Code::kCorrupt, "bad", 0};
                         }
                         return facts;
                       },
                   .describe =
                       [](uint32_t, const ReadContext&) {
                         EntryInfo info;
                         info.kind = "tensor";
                         info.size = 40;
                         info.dtype = "f32";
                         info.shape = {10};
                         return info;
                       }})};
  }

  uint32_t damaged = 0;

 private:
  std::vector<std::shared_ptr<const Source>> files_;
};

using Sums = CountedOnce::Sums;

TEST(CountedOnce, Item43_5_AnIndexAfterItsShardsAddsNothing) {
  CountedOnce counted;
  EXPECT_EQ(counted.Add(InFiles(1, {1, 1})), Sums());
  EXPECT_EQ(counted.Add(InFiles(2, {2})), Sums());
  EXPECT_EQ(counted.Add(InFiles(9, {1, 1, 2})), (Sums{3, 30, 120, 200}));
  // A part that has not been shown is new.
  EXPECT_EQ(counted.Add(InFiles(8, {2, 3})), (Sums{1, 10, 40, 100}));
}

TEST(CountedOnce, Item43_5_ShardsAfterTheirIndexAddNothing) {
  CountedOnce counted;
  EXPECT_EQ(counted.Add(InFiles(9, {1, 1, 2})), Sums());
  EXPECT_EQ(counted.Add(InFiles(1, {1, 1})), (Sums{2, 20, 80, 100}));
  EXPECT_EQ(counted.Add(InFiles(2, {2})), (Sums{1, 10, 40, 100}));
}

TEST(CountedOnce, Item43_5_TheFirstFileOfASplitModelMayBeItsOwn) {
  CountedOnce counted;
  EXPECT_EQ(counted.Add(InFiles(1, {1, 2})), Sums());
  EXPECT_EQ(counted.Add(InFiles(2, {2})), (Sums{1, 10, 40, 100}));
  EXPECT_EQ(counted.Add(InFiles(1, {1, 2})), (Sums{2, 20, 80, 200}));
}

TEST(CountedOnce, Item43_5_WhatIsNoFileIsNeverCountedBefore) {
  CountedOnce counted;
  const FakeContainer memory({"a", "b"});
  EXPECT_EQ(counted.Add(memory), Sums());
  EXPECT_EQ(counted.Add(memory), Sums());
}

IndexVerdict VerdictOf(const Container& container,
                       const Json& info = Json::object()) {
  return IndexVerdict::Of(container, info);
}

TEST(IndexVerdict, Item43_6_TheWorstComesFirst) {
  InFiles container(1, {1, 1});
  EXPECT_EQ(VerdictOf(container).Name(), "complete");
  container.Warn({"odd"});
  EXPECT_EQ(VerdictOf(container).text, "complete");
  container.Warn({"more behind it", kNoOffset, Severity::kPartial});
  EXPECT_EQ(VerdictOf(container).Name(), "partial");
  EXPECT_EQ(VerdictOf(container, {{"incomplete", "no x"}}).Name(),
            "incomplete");
  container.Warn({"a gap", 7, Severity::kDamage});
  EXPECT_EQ(VerdictOf(container).text, "damaged: 1 fault");
  container.damaged = 1;
  EXPECT_EQ(VerdictOf(container, {{"incomplete", "no x"}}).text,
            "damaged: 1 of 2 entries cannot be read");
  container.NeedMore(101, "");
  EXPECT_EQ(VerdictOf(container).Name(), "cut");
}

TEST(ContainerSummary, Item43_6_DtypesAreBounded) {
  ContainerSummary summary;
  for (int i = 0; i < 10'000; ++i) {
    EntryInfo info;
    info.dtype = "t" + std::to_string(i);
    info.shape = {2};
    summary.Add(info);
  }
  EXPECT_EQ(summary.dtypes.size(), ContainerSummary::kMaxDtypes + 1);
  EXPECT_EQ(summary.dtypes["(other)"].arrays, 9'900U);
  EXPECT_EQ(summary.elements, 20'000U);
}

}  // namespace
}  // namespace ctxfs
