// SPDX-License-Identifier: Apache-2.0
//
// Numbered directories whose names, sizes or directories depend on the bytes of
// the files (docs/tree.md, sections 4 and 6).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/tree/container_tree.h"
#include "core/vfs/namespace.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

constexpr uint32_t kCount = 100'000;

/// What the functions of a table were asked for.
struct Asked {
  std::atomic<int> names = 0;
  std::atomic<int> sizes = 0;
  std::atomic<bool> interrupted = false;
};

std::shared_ptr<const FileTable> Pictures(const std::shared_ptr<Asked>& asked,
                                          Role role = Role::kPrimary) {
  const auto find =
      [asked](const ReadContext& /*context*/) -> Result<std::string> {
    ++asked->names;
    if (asked->interrupted) return Error{Code::kInterrupted, "not now"};
    return std::string(".png");
  };
  return MakeTable(
      {.placement = {.role = role,
                     .directory = "columns/image",
                     .numbering =
                         Numbering{.suffix = ".bin", .find_suffix = find}},
       .count = kCount,
       .path = &NoPath,
       .open = [](uint32_t file, const ReadContext& /*context*/)
           -> Result<Content> { return TextContent(std::to_string(file)); },
       .size = [asked](uint32_t file,
                       const ReadContext& /*context*/) -> Result<uint64_t> {
         ++asked->sizes;
         return std::to_string(file).size();
       }});
}

std::shared_ptr<FakeContainer> With(std::shared_ptr<const FileTable> table) {
  auto fake = std::make_shared<FakeContainer>(FakeContainer::Names{});
  fake->files = {std::move(table)};
  return fake;
}

class NumberedDirectories : public testing::Test {
 protected:
  /// The names of a directory, listed with attributes as by readdirplus.
  static std::vector<std::string> List(const Namespace& files, Inode at) {
    const auto listing = files.OpenDirectory(at, TheCache());
    EXPECT_TRUE(Ok(listing));
    EXPECT_TRUE(Ok((*listing)->Rewind(TheCache())));
    std::vector<std::string> names;
    for (uint64_t i = 0; i < (*listing)->count(); ++i) {
      if (auto name = (*listing)->At(i, true, TheCache())) {
        names.push_back(std::move(name->name));
      }
    }
    return names;
  }

  const std::shared_ptr<Asked> asked_ = std::make_shared<Asked>();
};

TEST_F(NumberedDirectories, Item45_1_NamesAreFoundAtTheFirstLookInside) {
  const Namespace files({.container = With(Pictures(asked_)), .name = "c"});
  const auto columns = Walk(files, "c/columns");
  ASSERT_TRUE(columns);
  EXPECT_EQ(List(files, *columns), std::vector<std::string>{"image"});
  EXPECT_EQ(asked_->names, 0) << "nobody has looked inside";
  const auto names = List(files, *Walk(files, "c/columns/image"));
  ASSERT_EQ(names.size(), kCount);
  EXPECT_EQ(names[42], "000042.png");
  EXPECT_FALSE(Walk(files, "c/columns/image/000042.bin"));
  EXPECT_EQ(asked_->names, 1) << "they stay the same";
}

TEST_F(NumberedDirectories, Item45_1_SizesAreFoundByStatAndNotByListings) {
  const Namespace files({.container = With(Pictures(asked_)), .name = "c"});
  (void)List(files, *Walk(files, "c/columns/image"));
  EXPECT_EQ(asked_->sizes, 0);
  const auto found = Walk(files, "c/columns/image/000042.png");
  ASSERT_TRUE(found);
  EXPECT_EQ(files.Examine(*found, TheCache())->size, 2U);
  EXPECT_EQ(files.Totals().files, kCount);
  EXPECT_EQ(files.MeasuredTotals(TheCache())->bytes, 0U)
      << "statfs measures none of them";
}

TEST_F(NumberedDirectories, Item45_1_NamesAreFoundAgainAfterAnInterrupt) {
  const Namespace files({.container = With(Pictures(asked_)), .name = "c"});
  const auto image = Walk(files, "c/columns/image");
  ASSERT_TRUE(image);
  asked_->interrupted = true;
  EXPECT_FALSE(files.Lookup(*image, "000001.png", TheCache()));
  asked_->interrupted = false;
  EXPECT_TRUE(LookUp(files, *image, "000001.png"));
}

TEST_F(NumberedDirectories, Item45_1_EntriesAreInTheIndex) {
  const ContainerTree tree(With(Pictures(asked_, Role::kEntries)));
  EXPECT_EQ(tree.PrimaryFiles(), kCount);
  const auto index = tree.Open(*Find(tree, ".ctxfs/index.json"), TheCache());
  ASSERT_TRUE(Ok(index));
  const auto text = ReadAll(*index, TheCache());
  ASSERT_TRUE(Ok(text));
  const Json entries = ParseJson(*text)->value;
  ASSERT_EQ(entries.size(), kCount);
  EXPECT_EQ(entries[7]["path"], "columns/image/000007.png");
}

/// A numbered directory of containers, each with a file `x`.
std::shared_ptr<const FileTable> Samples(uint32_t count) {
  const auto open = [](uint32_t number, const ReadContext& /*context*/)
      -> Result<std::shared_ptr<const Container>> {
    auto sample = std::make_shared<FakeContainer>(FakeContainer::Names{});
    sample->files = {TextFile("x", std::to_string(number))};
    return std::shared_ptr<const Container>(std::move(sample));
  };
  return MakeTable(
      {.placement = {.role = Role::kViews,
                     .directory = "samples",
                     .numbering = Numbering{.open_directory = open}},
       .count = count,
       .path = &NoPath,
       .open = [](uint32_t /*file*/, const ReadContext& /*context*/)
           -> Result<Content> { return Content(); }});
}

TEST_F(NumberedDirectories, Item45_1_MayHoldDirectories) {
  const Namespace files({.container = With(Samples(10)), .name = "c"});
  const auto samples = Walk(files, "c/views/samples");
  ASSERT_TRUE(samples);
  EXPECT_EQ(List(files, *samples).size(), 10U);
  EXPECT_TRUE(LookUp(files, *samples, "000007")->attributes.directory);
  const auto file = Walk(files, "c/views/samples/000007/x");
  ASSERT_TRUE(file);
  const auto opened = files.Open(*file, TheCache());
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(*ReadAll(opened->content, TheCache()), "7");
  EXPECT_EQ(files.Path(*file, TheCache()), "views/samples/000007/x");
  EXPECT_EQ(files.Totals().files, 0U) << "they are views";
}

TEST_F(NumberedDirectories, Item45_1_TheLatestDirectoriesStayKnown) {
  constexpr uint32_t kMost = MountedContainers::kMaxNumbered;
  const Namespace files({.container = With(Samples(kMost + 1)), .name = "c"});
  const auto first = Walk(files, "c/views/samples/000000/x");
  ASSERT_TRUE(first);
  for (uint32_t i = 1; i <= kMost; ++i) {
    const auto path = fmt::format("c/views/samples/{:06}/x", i);
    ASSERT_TRUE(Walk(files, path)) << path;
  }
  const auto lost = files.Examine(*first, TheCache());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kStale);
  EXPECT_EQ(Walk(files, "c/views/samples/000000/x"), first)
      << "looking it up again finds it";
  EXPECT_TRUE(Ok(files.Examine(*first, TheCache())));
}

}  // namespace
}  // namespace ctxfs
