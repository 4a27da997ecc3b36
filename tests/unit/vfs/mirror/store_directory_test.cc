// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/store_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/vfs/containers/container_detector.h"
#include "core/vfs/log.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

StoreName ObjectCalled(const std::string& name, uint64_t size = 3,
                       const std::string& version = "v") {
  StoreName listed;
  listed.name = name;
  listed.size = size;
  listed.version = version;
  listed.modified_ns = 1'500'000'000;
  return listed;
}

StoreName PrefixCalled(const std::string& name) {
  StoreName listed;
  listed.name = name;
  listed.directory = true;
  return listed;
}

/// Listings and bodies in memory.
class FakeStore final : public UrlStore {
 public:
  void Put(const std::string& directory, std::vector<StoreName> names,
           uint64_t left_out = 0) {
    auto listing = std::make_shared<StoreListing>();
    listing->names = std::move(names);
    listing->left_out = left_out;
    listing->first_left_out = "..";
    listings_[directory] = std::move(listing);
  }

  Result<SourcePtr> Open(const std::string& url,
                         const Request& /*request*/) override {
    return Error{Code::kNotFound, url};
  }
  Result<StoreListingPtr> List(const std::string& directory,
                               const Request& /*request*/) override {
    ++lists;
    const auto found = listings_.find(directory);
    if (found == listings_.end()) return Error{Code::kIo, "no answer"};
    return found->second;
  }
  Result<SourcePtr> OpenListed(const std::string& directory,
                               const StoreName& name,
                               const Request& /*request*/) override {
    opened.push_back(UrlOf(directory, name));
    return SourcePtr(
        std::make_shared<MemorySource>(std::string(name.size, 'x')));
  }
  std::string UrlOf(const std::string& directory,
                    const StoreName& name) const override {
    return directory + name.name + (name.directory ? "/" : "");
  }

  unsigned lists = 0;
  std::vector<std::string> opened;

 private:
  std::map<std::string, StoreListingPtr> listings_;
};

class StoreDirectoryTest : public ::testing::Test {
 protected:
  StoreDirectoryTest() { SetUrlStore(store_.get()); }
  ~StoreDirectoryTest() override { SetUrlStore(nullptr); }

  std::vector<std::string> NamesIn(const StoreDirectory& directory,
                                   const std::string& path) {
    std::vector<std::string> names;
    const auto item = directory.FindDirectory(path, Request());
    EXPECT_TRUE(Ok(item));
    if (!item) return names;
    const Status listed = directory.List(
        *item,
        [&](const Directory::Name& name) -> Status {
          const bool is_directory =
              name.type == Directory::Name::Type::kDirectory;
          EXPECT_TRUE(is_directory ||
                      name.type == Directory::Name::Type::kFarFile);
          // A name that is listed is found, and is what was listed.
          const auto found = directory.Find(name.item.path, Request());
          EXPECT_TRUE(found && *found &&
                      (*found)->identity == name.item.identity &&
                      (*found)->directory == is_directory);
          names.push_back(std::string(name.name) + (is_directory ? "/" : ""));
          return {};
        },
        Request());
    EXPECT_TRUE(Ok(listed));
    std::ranges::sort(names);
    return names;
  }

  const std::shared_ptr<FakeStore> store_ = std::make_shared<FakeStore>();
};

using StoreNames = std::vector<std::string>;

TEST_F(StoreDirectoryTest, Item30_1_ShowsWhatIsListed) {
  store_->Put("s3://b/m/", {ObjectCalled("a.bin", 7), PrefixCalled("sub")});
  store_->Put("s3://b/m/sub/", {ObjectCalled("x")});
  for (const char* url : {"s3://b/m", "s3://b/m/"}) {
    StoreDirectory directory(url);
    EXPECT_EQ(NamesIn(directory, ""), (StoreNames{"a.bin", "sub/"}));
    EXPECT_EQ(NamesIn(directory, "sub"), (StoreNames{"x"}));
    const auto file = directory.Find("a.bin", Request());
    ASSERT_TRUE(file && *file);
    EXPECT_EQ((*file)->identity.size, 7U);
    EXPECT_EQ((*file)->identity.mtime, (FileTime{1, 500'000'000}));
    EXPECT_FALSE((*file)->permissions);
    const auto source = directory.Open(**file, {}, Request());
    ASSERT_TRUE(Ok(source));
    EXPECT_EQ((*source)->size(), 7U);
    EXPECT_EQ(store_->opened.back(), "s3://b/m/a.bin");
    for (const char* none : {"b", "a.bin/x", "sub/y", "none/x"}) {
      const auto found = directory.Find(none, Request());
      EXPECT_TRUE(found && !*found) << none;
    }
    EXPECT_TRUE(Fails(directory.FindDirectory("a.bin", Request()), Code::kIo));
  }
}

TEST_F(StoreDirectoryTest, Item30_BadInput_NamesAreMadeSafe) {
  const std::string nul("n\0l", 3);
  store_->Put("s3://b/",
              {PrefixCalled(""), PrefixCalled(".."), ObjectCalled("a"),
               PrefixCalled("a"), ObjectCalled("a~file"), ObjectCalled(nul)});
  store_->Put("s3://b/../", {ObjectCalled("x")});
  store_->Put("s3://b/a/", {});
  store_->Put("s3://b//", {});
  StoreDirectory directory("s3://b");
  EXPECT_EQ(NamesIn(directory, ""),
            (StoreNames{"%/", "%2E%2E/", "a/", "a~file", "a~file~2", "n%00l"}));
  EXPECT_EQ(NamesIn(directory, "%2E%2E"), (StoreNames{"x"}));
  for (const char* name : {"..", "", "%2e%2e", "a~file~3"}) {
    const auto found = directory.Find(name, Request());
    EXPECT_TRUE(found && !*found) << name;
  }
  const auto object = directory.Find("a~file~2", Request());
  ASSERT_TRUE(object && *object);
  ASSERT_TRUE(Ok(directory.Open(**object, {}, Request())));
  EXPECT_EQ(store_->opened.back(), "s3://b/a");
}

TEST_F(StoreDirectoryTest, Item30_2_AnotherVersionIsAnotherFile) {
  store_->Put("s3://b/", {ObjectCalled("a", 3, "v1")});
  StoreDirectory directory("s3://b");
  const auto before = directory.Find("a", Request());
  ASSERT_TRUE(before && *before);
  store_->Put("s3://b/", {ObjectCalled("a", 3, "v2")});
  const auto after = directory.Find("a", Request());
  ASSERT_TRUE(after && *after);
  EXPECT_FALSE((*after)->identity.SameFile((*before)->identity));
  EXPECT_TRUE(Fails(directory.Open(**before, {}, Request()), Code::kStale));
  EXPECT_TRUE(Ok(directory.Open(**after, {}, Request())));
  store_->Put("s3://b/", {});
  EXPECT_TRUE(Fails(directory.Open(**after, {}, Request()), Code::kStale));
}

TEST_F(StoreDirectoryTest, Item30_6_AServerThatFailsIsNoMissingFile) {
  StoreDirectory directory("s3://b");
  EXPECT_TRUE(Fails(directory.Find("a", Request()), Code::kIo));
  EXPECT_TRUE(Ok(directory.FindDirectory("", Request())));
  store_->Put("s3://b/", {PrefixCalled("d")});
  EXPECT_TRUE(Fails(directory.Find("d/x", Request()), Code::kIo));
}

TEST_F(StoreDirectoryTest, Item30_BadInput_WhatIsLeftOutIsLoggedOnce) {
  std::vector<std::string> lines;
  const LogSink before =
      SetLogSink([&lines](LogLevel /*level*/, const std::string& line) {
        lines.push_back(line);
        return true;
      });
  store_->Put("s3://b/", {ObjectCalled("a")}, 2);
  StoreDirectory directory("s3://b");
  (void)directory.Find("a", Request());
  (void)directory.Find("b", Request());
  (void)SetLogSink(before);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("them: 2, the first is '..'"), std::string::npos)
      << lines[0];
}

TEST_F(StoreDirectoryTest, Item30_4_WhatAFileIsIsKnownOnceItWasRead) {
  store_->Put("s3://b/", {ObjectCalled("a")});
  StoreDirectory directory("s3://b");
  const auto item = directory.Find("a", Request());
  ASSERT_TRUE(item && *item);
  ContainerDetector detector;
  EXPECT_FALSE(detector.Known(**item));
  ASSERT_TRUE(Ok(detector.Of(directory, **item, Request())));
  EXPECT_EQ(detector.Known(**item), ctxfs::Kind::kFile);
  EXPECT_EQ(store_->opened.size(), 1U);
}

}  // namespace
}  // namespace ctxfs
