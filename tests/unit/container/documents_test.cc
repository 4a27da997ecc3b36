// SPDX-License-Identifier: Apache-2.0
#include "core/container/documents.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/container/file_set.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

/// A document that counts how often it is made.
class Documents : public ::testing::Test {
 protected:
  std::shared_ptr<const FileTable> Make() {
    return TextDocument(Role::kMetadata, "d/text.json", {NewOwner(), 0},
                        source_, [this](const ReadContext& /*context*/) {
                          ++made_;
                          return text_;
                        });
  }

  const std::shared_ptr<FaultySource> source_ =
      std::make_shared<FaultySource>("source");
  BlockCache cache_{1 << 20};
  Result<std::string> text_ = std::string("text");
  int made_ = 0;
};

TEST_F(Documents, TextIsMadeAtTheFirstLookUpAndCached) {
  const auto table = Make();
  EXPECT_EQ(table->count(), 1U);
  EXPECT_EQ(PathIn(*table, 0), "d/text.json");
  EXPECT_EQ(table->placement().role, Role::kMetadata);
  EXPECT_EQ(table->size_cost(0), Cost::kDecode);
  EXPECT_EQ(made_, 0);
  EXPECT_EQ(*table->Size(0, cache_), 4U);
  EXPECT_EQ(*ReadAll(*table->Open(0, cache_), cache_), "text");
  EXPECT_EQ(*table->Size(0, cache_), 4U);
  EXPECT_EQ(made_, 1);
}

TEST_F(Documents, TextOfAChangedSourceIsStale) {
  const auto table = Make();
  const Result<Content> content = table->Open(0, cache_);
  ASSERT_TRUE(Ok(content));
  EXPECT_TRUE(Ok(ReadAll(*content, cache_)));
  source_->GoStaleAfter(0);
  EXPECT_TRUE(Fails(ReadAll(*content, cache_), Code::kStale));
  EXPECT_EQ(made_, 1);
}

TEST_F(Documents, TextThatCannotBeMadeHasNoBytes) {
  const auto table = Make();
  text_ = Error{Code::kCorrupt, "no text", 7};
  EXPECT_EQ(*table->Size(0, cache_), 0U);
  EXPECT_TRUE(Fails(table->Open(0, cache_), Code::kCorrupt, 7));
  text_ = Error{Code::kIo, "not now"};
  EXPECT_TRUE(Fails(table->Size(0, cache_), Code::kIo));
  text_ = std::string("later");
  EXPECT_EQ(*table->Size(0, cache_), 5U) << "an I/O error is not remembered";
}

TEST_F(Documents, AFreshDocumentIsMadeAtEachOpen) {
  const auto table = FreshDocument(
      Role::kMetadata, "live",
      [this](const ReadContext& /*context*/) -> Result<std::string> {
        return std::to_string(++made_);
      },
      /*live=*/true);
  EXPECT_EQ(*ReadAll(*table->Open(0, cache_), cache_), "1");
  EXPECT_EQ(*ReadAll(*table->Open(0, cache_), cache_), "2");
  EXPECT_TRUE(table->live());
  EXPECT_FALSE(Make()->live());
}

TEST_F(Documents, KnownFilesTellTheirSizeWithoutARead) {
  EntryInfo info;
  info.kind = "section";
  const auto fixed =
      FixedFile(Role::kPrimary, "f", LiteralContent("12345"), info);
  EXPECT_EQ(fixed->KnownSize(0), 5U);
  EXPECT_EQ(fixed->size_cost(0), Cost::kNone);
  EXPECT_EQ(fixed->access(0), Access::kOk);
  EXPECT_EQ(fixed->Describe(0, cache_)->kind, "section");
  const auto alias = AliasFile(Role::kViews, "a", fixed, 0);
  EXPECT_EQ(PathIn(*alias, 0), "a");
  EXPECT_EQ(alias->KnownSize(0), 5U);
  EXPECT_EQ(*ReadAll(*alias->Open(0, cache_), cache_), "12345");
  const auto refused =
      RefusedFile(Role::kPrimary, "r", {Code::kCorrupt, "why", 3});
  EXPECT_EQ(refused->KnownSize(0), 0U);
  EXPECT_EQ(refused->access(0), Access::kUnreadable);
  EXPECT_TRUE(Fails(refused->Open(0, cache_), Code::kCorrupt, 3));
}

TEST(FileSet, FilesOfEntriesHaveTheirPathsAndASuffix) {
  const FakeContainer container({"no", "a/b", std::nullopt, ""});
  const auto entries = container.Entries();
  for (const std::string suffix : {"", ".json"}) {
    const auto table = MakeTable(
        {.placement = {.role = Role::kViews, .directory = "d"},
         .count = entries->count(),
         .path = PathsOfEntries(
             entries, [](uint32_t entry) { return entry > 0; }, suffix),
         .open = [entries](uint32_t entry, const ReadContext& context) {
           return entries->Open(entry, context);
         }});
    EXPECT_EQ(table->count(), 4U);
    EXPECT_EQ(PathIn(*table, 0), std::nullopt);
    EXPECT_EQ(PathIn(*table, 1), "a/b" + suffix);
    EXPECT_EQ(PathIn(*table, 2), "#2" + suffix);
    EXPECT_EQ(PathIn(*table, 3), suffix);
    EXPECT_EQ(table->placement().directory, "d");
    std::string scratch = "left over";
    EXPECT_EQ(*table->Path(1, scratch), "a/b" + suffix);
  }
}

TEST(FileSet, Item29_2_FunctionsThatAreMissingDoWhatATableDoesByDefault) {
  FileSet set{.path = &NoPath,
              .open = [](uint32_t /*file*/, const ReadContext& /*context*/)
                  -> Result<Content> { return LiteralContent("abc"); }};
  BlockCache cache(1 << 20);
  const auto plain = MakeTable(set);
  EXPECT_EQ(plain->count(), 1U);
  EXPECT_EQ(plain->KnownSize(0), std::nullopt);
  EXPECT_EQ(plain->size_cost(0), Cost::kDecode);
  EXPECT_EQ(*plain->Size(0, cache), 3U);
  EXPECT_TRUE(*plain->Exists(0, Cost::kDecode, cache));
  EXPECT_FALSE(plain->Describe(0, cache).has_value());
  set.facts = [](uint32_t /*file*/) {
    return FileFacts{7, Error{Code::kLocked, "no key"}};
  };
  const auto locked = MakeTable(set);
  EXPECT_EQ(*locked->Size(0, cache), 7U);
  EXPECT_EQ(locked->size_cost(0), Cost::kNone);
  EXPECT_EQ(locked->access(0), Access::kLocked);
}

}  // namespace
}  // namespace ctxfs
