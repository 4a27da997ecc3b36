// SPDX-License-Identifier: Apache-2.0
//
// How often documents are rendered for their sizes (docs/tree.md, section 6).
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/container/documents.h"
#include "core/vfs/namespace.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/heap.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// A container with documents that count how often they are rendered.
class DocumentSizes : public ::testing::Test {
 protected:
  std::shared_ptr<const FileTable> Document(std::string path, Cost cost,
                                            Role role = Role::kPrimary) {
    const auto render = [this](const ReadContext& /*context*/) {
      ++rendered_;
      return text_;
    };
    return TextDocument(role, std::move(path), {NewOwner(), 0}, nullptr, render,
                        cost);
  }

  static std::shared_ptr<FakeContainer> Fake() {
    return std::make_shared<FakeContainer>(FakeContainer::Names{"a"});
  }

  Attributes Examine(const Namespace& files, Inode inode) {
    const Result<Attributes> attributes = files.Examine(inode, cache_);
    EXPECT_TRUE(Ok(attributes));
    return attributes ? *attributes : Attributes();
  }

  /// The sizes that a listing of the root gives unasked; -1 for none.
  std::vector<int64_t> ListedSizes(const Namespace& files) {
    const auto listing = files.OpenDirectory(kRootInode, cache_);
    EXPECT_TRUE(Ok(listing));
    EXPECT_TRUE((*listing)->Rewind(cache_));
    std::vector<int64_t> sizes;
    for (uint64_t i = 0; i < (*listing)->count(); ++i) {
      const auto name = (*listing)->At(i, /*attributes=*/true, cache_);
      if (!name || name->directory) continue;
      sizes.push_back(
          name->attributes ? static_cast<int64_t>(name->attributes->size) : -1);
    }
    return sizes;
  }

  BlockCache cache_{0};  // keeps nothing
  Result<std::string> text_ = std::string("text");
  int rendered_ = 0;
};

TEST_F(DocumentSizes, Item28_12_ADocumentIsRenderedOnceForItsSize) {
  for (const Role role : {Role::kPrimary, Role::kMetadata, Role::kRaw}) {
    rendered_ = 0;
    const auto fake = Fake();
    fake->files = {Document("doc.json", Cost::kDecode, role)};
    const Namespace files({.container = fake});
    const std::string directory = role == Role::kPrimary    ? ""
                                  : role == Role::kMetadata ? ".ctxfs/"
                                                            : ".ctxfs/raw/";
    for (int i = 0; i < 3; ++i) {
      const auto inode = Walk(files, directory + "doc.json");
      ASSERT_TRUE(inode.has_value());
      EXPECT_EQ(Examine(files, *inode).size, 4U);
      EXPECT_TRUE(Ok(files.MeasuredTotals(cache_)));
    }
    EXPECT_EQ(rendered_, 1);
  }
}

TEST_F(DocumentSizes, Item28_12_AListingMeasuresSmallDocumentsOnly) {
  const auto fake = Fake();
  fake->files = {Document("large.json", Cost::kDecode),
                 Document("small.json", Cost::kSmallRead)};
  const Namespace files({.container = fake});
  EXPECT_EQ(ListedSizes(files), (std::vector<int64_t>{4, -1, 4}));
  EXPECT_EQ(rendered_, 1);
  ASSERT_TRUE(Walk(files, "large.json").has_value());
  EXPECT_EQ(ListedSizes(files), (std::vector<int64_t>{4, 4, 4}))
      << "what is known costs nothing";
  EXPECT_EQ(rendered_, 2);
}

TEST_F(DocumentSizes, Item28_12_OnlyPermanentFailuresAreKept) {
  const auto fake = Fake();
  fake->files = {Document("doc.json", Cost::kDecode)};
  const Namespace files({.container = fake});
  text_ = Error{Code::kIo, "not now"};
  EXPECT_TRUE(Fails(files.Lookup(kRootInode, "doc.json", cache_), Code::kIo));
  text_ = Error{Code::kCorrupt, "no text"};
  const auto inode = Walk(files, "doc.json");
  ASSERT_TRUE(inode.has_value());
  EXPECT_EQ(Examine(files, *inode).size, 0U);
  EXPECT_EQ(rendered_, 2);
}

TEST_F(DocumentSizes, Item28_12_KeepingThemIsPaidForWhenTheContainerOpens) {
  if (!CountsHeap()) GTEST_SKIP() << "the sanitizer's operator new is used";
  constexpr int kDocuments = 1000;
  const auto fake = Fake();
  for (int i = 0; i < kDocuments; ++i) {
    fake->files.push_back(
        Document("doc" + std::to_string(i), Cost::kSmallRead));
  }
  const ContainerTree tree(fake);
  BlockCache cache(0);
  const auto measure_all = [&] {
    for (const NodeId file : tree.UnmeasuredFiles()) {
      EXPECT_EQ(*tree.Size(file, cache), 4U);
    }
  };
  measure_all();
  const int64_t before = HeapBytes();
  EXPECT_EQ(tree.UnmeasuredFiles().size(), 0U);
  measure_all();
  EXPECT_EQ(HeapBytes(), before);
  EXPECT_EQ(rendered_, kDocuments);
}

TEST_F(DocumentSizes, Item28_9_TotalsHaveTheSizesOfGeneratedFiles) {
  const auto fake = Fake();
  fake->files = {Document("doc.json", Cost::kDecode),
                 Document("x.json", Cost::kDecode, Role::kMetadata)};
  const Namespace files({.container = fake});
  EXPECT_EQ(files.Totals().bytes, 4U) << "of the entry alone";
  const auto totals = files.MeasuredTotals(cache_);
  ASSERT_TRUE(Ok(totals));
  EXPECT_EQ(totals->files, 2U);
  EXPECT_EQ(totals->bytes, 8U);
  EXPECT_EQ(files.Totals().bytes, 8U);
}

}  // namespace
}  // namespace ctxfs
