// SPDX-License-Identifier: Apache-2.0
#include "core/vfs/mirror/mirror.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/sanitized.h"
#include "core/io/fd.h"
#include "core/vfs/mirror/system_directory.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs {
namespace {

namespace fs = std::filesystem;
using Type = DirectorySnapshot::Type;

/// Takes every descriptor of the process but `left`.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t left) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const Fd lowest(::open("/", O_PATH | O_CLOEXEC));
    struct rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(lowest.get()) + left;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  struct rlimit before_ {};
};

class MirrorTest : public testing::Test {
 protected:
  MirrorTest() : mirror_(In(), {}) {
    fs::create_directories(dir_.Path("in/sub/deep"));
    dir_.Write("in/c.shard", BuildShard({{Raw("a", "hello")}}));
    dir_.Write("in/plain", "text");
    dir_.Write("in/sub/file", "x");
  }

  std::unique_ptr<Directory> In(const SystemDirectory::Options& options = {}) {
    return std::make_unique<SystemDirectory>(dir_.Path("in"), options);
  }

  std::map<std::string, Type> List(Inode directory) {
    const auto listed = mirror_.List(directory, cache_);
    EXPECT_TRUE(Ok(listed));
    std::map<std::string, Type> names;
    for (uint64_t i = 0; listed && i < (*listed)->count(); ++i) {
      const DirectorySnapshot::Name name = (*listed)->At(i);
      names.emplace(name.name, name.type);
    }
    return names;
  }

  Mirror::Node Lookup(const std::string& name) {
    const auto found = mirror_.Lookup(kRootInode, name, Request());
    EXPECT_TRUE(Ok(found));
    EXPECT_TRUE(found && *found) << name;
    return found && *found ? **found : Mirror::Node();
  }

  const TempDir dir_;
  Mirror mirror_;
  BlockCache cache_{0};
};

/// A directory that no file system has: of one container, in `sub`.
class StoredDirectory final : public Directory {
 public:
  FileIdentity identity() const override { return Number(1); }
  Maybe<Item> Find(const std::string& path,
                   const Request& /*request*/) const override {
    if (path == "sub") return std::optional(Sub());
    if (path == "sub/c.shard") return std::optional(Shard());
    return std::optional<Item>();
  }
  Result<Item> FindDirectory(const std::string& path,
                             const Request& /*request*/) const override {
    return path.empty() ? Item{.directory = true, .identity = identity()}
                        : Sub();
  }
  Status List(const Item& directory, const Visit& visit,
              const Request& /*request*/) const override {
    if (directory.identity == identity()) {
      return visit({"sub", Name::Type::kDirectory, Sub()});
    }
    return visit({"c.shard", Name::Type::kFile, Shard()});
  }
  Result<SourcePtr> Open(const Item& item, const SourceOptions& /*options*/,
                         const Request& /*request*/) const override {
    if (item.directory) return Error{Code::kIo, "a store has no directories"};
    return SourcePtr(std::make_shared<const MemorySource>(bytes_));
  }

 private:
  static FileIdentity Number(uint64_t inode) {
    FileIdentity identity;
    identity.device = 1;
    identity.inode = inode;
    return identity;
  }
  static Item Sub() { return {.directory = true, .identity = Number(2)}; }
  Item Shard() const {
    Item item;
    item.identity = Number(3);
    item.identity.size = bytes_.size();
    return item;
  }

  const std::string bytes_ = BuildShard({{Raw("a", "hello")}});
};

TEST(Mirror, Item29_1_ShowsADirectoryThatNoFileSystemHas) {
  const Namespace files(
      {.mirror = std::make_unique<Mirror>(std::make_unique<StoredDirectory>(),
                                          Mirror::Options{})});
  const auto names = [&](std::string_view path) {
    std::set<std::string> listed;
    const auto listing = files.OpenDirectory(*Walk(files, path), TheCache());
    EXPECT_TRUE(Ok(listing) && Ok((*listing)->Rewind(TheCache())));
    for (uint64_t i = 0; i < (*listing)->count(); ++i) {
      if (auto name = (*listing)->At(i, false, TheCache())) {
        listed.insert(name->name);
      }
    }
    return listed;
  };
  EXPECT_EQ(names(""), std::set<std::string>{"sub"});
  EXPECT_EQ(names("sub"), std::set<std::string>{"c.shard"});
  EXPECT_EQ(names("sub/c.shard"), std::set<std::string>{"a"});
  const auto file = files.Open(*Walk(files, "sub/c.shard/a"), TheCache());
  ASSERT_TRUE(Ok(file));
  EXPECT_EQ(file->content.size(), 5U);
  EXPECT_FALSE(Walk(files, "sub/none"));
}

const std::map<std::string, Type> kNames = {{"sub", Type::kDirectory},
                                            {"c.shard", Type::kDirectory},
                                            {"plain", Type::kFile}};

TEST_F(MirrorTest, ListsWhatLookupsFind) {
  EXPECT_EQ(List(kRootInode), kNames);
  const auto listed = mirror_.List(kRootInode, cache_);
  for (uint64_t i = 0; i < (*listed)->count(); ++i) {
    const DirectorySnapshot::Name name = (*listed)->At(i);
    const Mirror::Node node = Lookup(std::string(name.name));
    EXPECT_EQ(node.inode, name.inode) << name.name;
    EXPECT_EQ(node.kind != Kind::kFile, name.type == Type::kDirectory);
    EXPECT_EQ(mirror_.Find(node.inode, Request())->node.kind, node.kind);
  }
  const Mirror::Node sub = Lookup("sub");
  EXPECT_EQ(List(sub.inode),
            (std::map<std::string, Type>{{"deep", Type::kDirectory},
                                         {"file", Type::kFile}}));
}

// A file that common programs open stays one, and NAME~dir is what is in it.
TEST_F(MirrorTest, HasADirectoryForAContainerThatStaysAFile) {
  dir_.Write("in/a.zip", BuildZip({{"x", "hello"}}));
  dir_.Write("in/taken.zip", BuildZip({{"x", "hello"}}));
  dir_.Write("in/taken.zip~dir", "theirs");
  EXPECT_EQ(Lookup("a.zip").kind, Kind::kFile);
  const Mirror::Node inside = Lookup("a.zip~dir");
  EXPECT_EQ(inside.kind, Kind::kContainer);
  EXPECT_FALSE(inside.directory);
  EXPECT_NE(inside.inode, Lookup("a.zip").inode);
  EXPECT_EQ(inside.permissions->bits & 0111,
            0111U & inside.permissions->bits >> 2);
  const auto found = mirror_.Find(inside.inode, Request());
  ASSERT_TRUE(Ok(found));
  EXPECT_TRUE(found->item.path.ends_with("/a.zip")) << found->item.path;
  EXPECT_EQ(Lookup("taken.zip~dir").kind, Kind::kFile) << "theirs";
  for (const char* name : {"plain~dir", "c.shard~dir", "sub~dir", "~dir",
                           "none~dir", "..~dir", "a.zip~dir~dir"}) {
    const auto none = mirror_.Lookup(kRootInode, name, Request());
    ASSERT_TRUE(Ok(none)) << name;
    EXPECT_FALSE(none->has_value()) << name;
  }
  std::map<std::string, Type> names = kNames;
  names.insert({{"a.zip", Type::kFile},
                {"taken.zip", Type::kFile},
                {"taken.zip~dir", Type::kFile}});
  EXPECT_EQ(List(kRootInode), names) << "it is unlisted";
  Mirror all(In(), {.list_inside = true});
  const auto listed = all.List(kRootInode, cache_);
  ASSERT_TRUE(Ok(listed));
  std::map<std::string, Inode> shown;
  for (uint64_t i = 0; i < (*listed)->count(); ++i) {
    const DirectorySnapshot::Name name = (*listed)->At(i);
    EXPECT_TRUE(shown.emplace(name.name, name.inode).second) << name.name;
  }
  EXPECT_EQ(shown.size(), names.size() + 1);
  EXPECT_EQ(shown.at("a.zip~dir"), inside.inode);
}

// An index of safetensors files has no magic number, but a name.
TEST_F(MirrorTest, HasADirectoryForWhatOnlyItsNameTells) {
  dir_.Write("in/m.safetensors.index.json", R"({"weight_map": {}})");
  dir_.Write("in/other.json", R"({"weight_map": {}})");
  dir_.Write("in/text.safetensors.index.json", "no object");
  EXPECT_EQ(Lookup("m.safetensors.index.json").kind, Kind::kFile);
  EXPECT_EQ(Lookup("m.safetensors.index.json~dir").kind, Kind::kContainer);
  for (const char* name :
       {"other.json~dir", "text.safetensors.index.json~dir"}) {
    const auto none = mirror_.Lookup(kRootInode, name, Request());
    ASSERT_TRUE(Ok(none)) << name;
    EXPECT_FALSE(none->has_value()) << name;
  }
}

TEST_F(MirrorTest, AFolderHasADirectoryForItsModel) {
  constexpr const char* kIndex = "model.safetensors.index.json";
  fs::create_directories(dir_.Path("in/model"));
  dir_.Write(std::string("in/model/") + kIndex, R"({"weight_map": {}})");
  const auto beside = mirror_.Lookup(kRootInode, "model~dir", Request());
  ASSERT_TRUE(Ok(beside) && *beside);
  EXPECT_EQ((*beside)->kind, Kind::kContainer);
  const auto found = mirror_.Find((*beside)->inode, Request());
  ASSERT_TRUE(Ok(found));
  EXPECT_EQ(found->item.path, dir_.Path(std::string("in/model/") + kIndex));
  EXPECT_FALSE(List(kRootInode).contains("model~dir"));
  for (const char* name : {"sub~dir", "plain~dir", "absent~dir"}) {
    const auto none = mirror_.Lookup(kRootInode, name, Request());
    EXPECT_TRUE(Ok(none) && !*none) << name;
  }
}

TEST_F(MirrorTest, AFolderThatOthersMayNotSearchShowsThemNoModel) {
  fs::create_directories(dir_.Path("in/model"));
  dir_.Write("in/model/model.safetensors.index.json", R"({"weight_map": {}})");
  Mirror confined(In({.confined = true}), {});
  for (const auto& [mode, shown] : {std::pair(0755U, true),
                                    {0700U, false},
                                    {0750U, false},
                                    {0711U, true}}) {
    ASSERT_EQ(::chmod(dir_.Path("in/model").c_str(), mode), 0);
    const auto beside = confined.Lookup(kRootInode, "model~dir", Request());
    ASSERT_TRUE(Ok(beside));
    EXPECT_EQ(beside->has_value(), shown) << std::oct << mode;
  }
}

TEST_F(MirrorTest, FollowsAContainerThatStaysAFile) {
  dir_.Write("in/a.zip", BuildZip({{"x", "hello"}}));
  const Inode inside = Lookup("a.zip~dir").inode;
  dir_.Write("in/a.zip", BuildZip({{"x", "other bytes"}}));
  EXPECT_TRUE(Fails(mirror_.Find(inside, Request()), Code::kStale));
  EXPECT_NE(Lookup("a.zip~dir").inode, inside);
  dir_.Write("in/a.zip", "no archive any more");
  const auto none = mirror_.Lookup(kRootInode, "a.zip~dir", Request());
  ASSERT_TRUE(Ok(none));
  EXPECT_FALSE(none->has_value());
}

/// Returns how often a directory was opened since the last call.
size_t Opened(int watch) {
  char events[4096];
  size_t count = 0;
  ssize_t size = 0;
  while ((size = ::read(watch, events, sizeof(events))) > 0) {
    count += static_cast<size_t>(size) / sizeof(inotify_event);
  }
  return count;
}

// issue 13: two mounts waited for each other for ever, because each listed, and
// so opened, the root of the other.
TEST_F(MirrorTest, ListsADirectoryWithoutOpeningThoseInIt) {
  const Fd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), dir_.Path("in/sub").c_str(),
                                IN_OPEN | IN_ONLYDIR),
            0);
  EXPECT_EQ(List(kRootInode), kNames);
  EXPECT_EQ(Opened(watch.get()), 0U);
  const Mirror::Node sub = Lookup("sub");
  EXPECT_GT(Opened(watch.get()), 0U) << "a look-up probes";
  EXPECT_TRUE(Ok(mirror_.Find(sub.inode, Request())));
  EXPECT_EQ(Opened(watch.get()), 0U) << "what is known is not probed again";
}

TEST_F(MirrorTest, SharesASnapshotWhileADirectoryDoesNotChange) {
  const auto first = mirror_.List(kRootInode, cache_);
  const auto second = mirror_.List(kRootInode, cache_);
  ASSERT_TRUE(Ok(first));
  EXPECT_EQ(first->get(), second->get());
  dir_.Write("in/new", "new");
  const auto third = mirror_.List(kRootInode, cache_);
  ASSERT_TRUE(Ok(third));
  EXPECT_NE(first->get(), third->get());
  EXPECT_EQ((*first)->count(), 3U) << "as when it was taken";
  EXPECT_EQ((*third)->count(), 4U);
}

TEST_F(MirrorTest, KeepsNoSnapshotThatNobodyReads) {
  std::weak_ptr<const DirectorySnapshot> kept =
      *mirror_.List(kRootInode, cache_);
  EXPECT_TRUE(kept.expired());
}

TEST_F(MirrorTest, TakesAChangedListingForAnotherAndAnEqualOneForTheSame) {
  const auto first = mirror_.List(kRootInode, cache_);
  // The directory's times change, its names do not.
  dir_.Write("in/new", "new");
  fs::remove(dir_.Path("in/new"));
  EXPECT_EQ(mirror_.List(kRootInode, cache_)->get(), first->get());
}

// issue 13: without a descriptor to probe it by, a container was a plain file.
TEST_F(MirrorTest, WithoutDescriptorsNothingChangesItsType) {
  if (CTXFS_SANITIZED != 0) GTEST_SKIP() << "sanitizers need descriptors";
  {
    // One to find it by, none to open it.
    const FewDescriptors few(1);
    EXPECT_TRUE(Fails(mirror_.Lookup(kRootInode, "c.shard", Request()),
                      Code::kTooManyFiles));
    EXPECT_TRUE(Fails(mirror_.Lookup(kRootInode, "sub", Request()),
                      Code::kTooManyFiles));
  }
  {
    const FewDescriptors none(0);
    EXPECT_TRUE(Fails(mirror_.Lookup(kRootInode, "plain", Request()),
                      Code::kTooManyFiles));
    EXPECT_TRUE(Fails(mirror_.List(kRootInode, cache_), Code::kTooManyFiles));
  }
  {
    // Enough to list by, but not to probe.
    const FewDescriptors few(2);
    EXPECT_EQ(List(kRootInode),
              (std::map<std::string, Type>{{"sub", Type::kDirectory},
                                           {"c.shard", Type::kUnknown},
                                           {"plain", Type::kUnknown}}));
  }
  EXPECT_EQ(Lookup("c.shard").kind, Kind::kContainer);
  EXPECT_EQ(List(kRootInode), kNames);
}

TEST(DirectorySnapshot, NumbersItsNames) {
  DirectorySnapshot snapshot;
  const std::string names[] = {"a", std::string(255, 'x'), "", "c"};
  for (const std::string& name : names) {
    EXPECT_TRUE(snapshot.Add(name.size() + 1, name, Type::kFile));
  }
  snapshot.ShrinkToFit();
  ASSERT_EQ(snapshot.count(), 4U);
  for (uint64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(snapshot.At(i).name, names[i]);
    EXPECT_EQ(snapshot.At(i).inode, names[i].size() + 1);
  }
}

}  // namespace
}  // namespace ctxfs
