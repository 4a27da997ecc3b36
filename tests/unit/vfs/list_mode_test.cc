// SPDX-License-Identifier: Apache-2.0
//
// What listings show and what they leave out, notes of failed reads, and sums
// of primary files (docs/tree.md, sections 2, 5 and 6).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/vfs/file_handle.h"
#include "core/vfs/namespace.h"
#include "core/vfs/xattr.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/namespace.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"
#include "tests/unit/testing/temp_dir.h"
#include "tests/unit/testing/zip_builder.h"

namespace ctxfs {
namespace {

using Set = std::set<std::string>;

std::vector<ChildContainer> Views(
    const std::shared_ptr<const Container>& container) {
  return AttachedViews(container, AllViews());
}

/// The names in a directory; each is also found by its name, as what is listed.
Set List(const Namespace& files, std::string_view path) {
  const std::optional<Inode> directory = Walk(files, path);
  EXPECT_TRUE(directory.has_value()) << path;
  if (!directory) return {};
  const auto listing = files.OpenDirectory(*directory, TheCache());
  EXPECT_TRUE(Ok(listing));
  EXPECT_TRUE(Ok((*listing)->Rewind(TheCache())));
  Set names;
  for (uint64_t i = 0; i < (*listing)->count(); ++i) {
    const auto name = (*listing)->At(i, true, TheCache());
    if (!name) continue;
    EXPECT_TRUE(names.insert(name->name).second) << name->name;
    const auto found = files.Lookup(*directory, name->name, TheCache());
    EXPECT_TRUE(found && *found) << name->name;
    if (!found || !*found) continue;
    EXPECT_EQ((*found)->inode, name->inode) << name->name;
    EXPECT_EQ((*found)->attributes.directory, name->directory) << name->name;
  }
  return names;
}

Result<std::string> ReadByHandle(const Namespace& files,
                                 std::string_view path) {
  const std::optional<Inode> inode = Walk(files, path);
  if (!inode) return Error{Code::kNotFound, std::string(path)};
  Result<OpenFile> file = files.Open(*inode, TheCache());
  if (!file) return std::move(file).error();
  FileHandle handle(files, *inode, std::move(*file));
  Window window;
  const Status read =
      handle.Read(*handle.file(), 0, 1 << 20, TheCache(), window);
  if (!read) return read.error();
  std::string text;
  for (const Bytes slice : window.slices()) text += AsText(slice);
  return text;
}

Set Xattrs(const Namespace& files, std::string_view path) {
  const auto info = files.Describe(*Walk(files, path), TheCache());
  EXPECT_TRUE(Ok(info));
  Set names;
  if (!info || !*info) return names;
  for (const auto& [name, value] : EntryXattrs(**info, std::string(path))) {
    names.insert(name.substr(std::string("user.ctxfs.").size()) + "=" + value);
  }
  return names;
}

std::shared_ptr<FakeArrays> Model() {
  return std::make_shared<FakeArrays>(
      std::vector<ArrayInfo>{Array("a", DType::kF32, {1}, "abcd"),
                             BrokenArray("broken", DType::kF32, {1})},
      Exports{});
}

TEST(ListMode, LeavesOutWhatShowsNoPrimaryFiles) {
  const auto model = Model();
  model->files = {TextFile("own", "O"), TextFile("x", "X", Role::kViews),
                  TextFile("sections/1", "1", Role::kRaw)};
  const auto listing = [&](ListMode mode) {
    return Shown{.container = model,
                 .name = "m",
                 .stats = StatsFile(),
                 .list_mode = mode,
                 .extras = &Views};
  };
  const Namespace files(listing(ListMode::kPrimary));
  EXPECT_EQ(List(files, ""), Set{"m"});
  EXPECT_EQ(List(files, "m"), Set{"own"});
  EXPECT_EQ(*ReadByHandle(files, "m/views/x"), "X") << "look-ups find all";
  EXPECT_EQ(*ReadByHandle(files, "m/.ctxfs/raw/sections/1"), "1");
  EXPECT_EQ(*ReadByHandle(files, ".ctxfs/stats"), "S");
  const Set views = {"x", "npy", "overview.html"};
  const Set about = {"info.json", "index.json", "faults.json", "container",
                     "raw"};
  EXPECT_EQ(List(files, "m/views"), views) << "their own contents are listed";
  EXPECT_EQ(List(files, "m/.ctxfs"), about);
  EXPECT_EQ(List(files, ".ctxfs"), Set{"stats"});
  const Namespace more(listing(ListMode::kViews));
  EXPECT_EQ(List(more, ""), Set{"m"});
  EXPECT_EQ(List(more, "m"), (Set{"own", "views"}));
  const Namespace all(listing(ListMode::kAll));
  EXPECT_EQ(List(all, ""), (Set{"m", ".ctxfs"}));
  EXPECT_EQ(List(all, "m"), (Set{"own", "views", ".ctxfs"}));
  EXPECT_EQ(List(all, "m/views"), views);
  EXPECT_EQ(List(all, "m/.ctxfs"), about);
}

TEST(ListMode, HoldsInContainersWithinContainers) {
  const std::string inner =
      BuildShard({.entries = {Raw("x", "hello")}, .role = 16});
  const auto shard = OpenContainer(
      std::make_shared<MemorySource>(
          BuildShard({.entries = {Raw("d/in.shard", inner)}, .role = 16})),
      {});
  ASSERT_TRUE(Ok(shard));
  const Namespace files(
      {.container = *shard, .stats = StatsFile(), .extras = &Views});
  EXPECT_EQ(List(files, ""), Set{"d"});
  EXPECT_EQ(List(files, "d"), Set{"in.shard"});
  EXPECT_EQ(List(files, "views/d"), Set{"in.shard~dir"});
  EXPECT_EQ(List(files, "views/d/in.shard~dir"), Set{"x"});
  EXPECT_EQ(*ReadByHandle(files, "views/d/in.shard~dir/x"), "hello");
  const Namespace all(
      {.container = *shard, .list_mode = ListMode::kAll, .extras = &Views});
  EXPECT_EQ(List(all, "views/d/in.shard~dir"), (Set{"x", ".ctxfs"}));
}

TEST(ListMode, ListsEntriesNamedLikeGeneratedFiles) {
  const auto fake = std::make_shared<FakeContainer>(
      FakeContainer::Names{"views", ".ctxfs/x"});
  fake->files = {TextFile("v", "V", Role::kViews)};
  const Namespace files({.container = fake, .stats = StatsFile()});
  EXPECT_EQ(List(files, ""), (Set{"views", ".ctxfs"}));
  EXPECT_EQ(*ReadByHandle(files, "views~2/v"), "V");
  const Namespace all(
      {.container = fake, .stats = StatsFile(), .list_mode = ListMode::kAll});
  EXPECT_EQ(List(all, ""), (Set{"views", ".ctxfs", "views~2", ".ctxfs~2"}));
}

TEST(ListMode, HoldsInMirrors) {
  const TempDir dir;
  dir.Write("c.shard", BuildShard({{Raw("a", "hello")}}));
  dir.Write("z.zip", BuildZip({{"x", "hello"}}));
  for (const bool all : {false, true}) {
    const ListMode mode = all ? ListMode::kAll : ListMode::kPrimary;
    const Namespace files(
        {.mirror = MirrorOf(dir.Path(""), {.list_inside = all}),
         .stats = StatsFile(),
         .list_mode = mode});
    EXPECT_EQ(List(files, ""),
              all ? (Set{"c.shard", "z.zip", "z.zip~dir", ".ctxfs"})
                  : (Set{"c.shard", "z.zip"}));
    EXPECT_EQ(List(files, "c.shard"), all ? (Set{"a", ".ctxfs"}) : Set{"a"});
    EXPECT_EQ(List(files, "z.zip~dir"), all ? (Set{"x", ".ctxfs"}) : Set{"x"});
    EXPECT_EQ(*ReadByHandle(files, "z.zip~dir/x"), "hello");
    EXPECT_EQ(*ReadByHandle(files, ".ctxfs/stats"), "S");
  }
}

// Views of the format and those made of exports may have directories of one
// name; an entry that is no container after all must not hide one either.
TEST(SharedViews, OfOneNameAreOneDirectory) {
  const auto model = Model();
  model->files = {TextFile("npy/own", "O", Role::kViews),
                  TextFile("merged/m", "M", Role::kViews)};
  const Namespace files(
      {.container = model, .stats = StatsFile(), .extras = &Views});
  EXPECT_EQ(List(files, "views/npy"), (Set{"own", "a.npy", "broken.npy"}));
  EXPECT_EQ(*ReadByHandle(files, "views/npy/own"), "O");
  EXPECT_EQ(ReadByHandle(files, "views/npy/a.npy")->substr(1, 5), "NUMPY");
  EXPECT_EQ(Walk(files, "views/npy/none"), std::nullopt);
  EXPECT_EQ(List(files, "views"), (Set{"npy", "merged", "overview.html"}));
  EXPECT_EQ(files.PathInContainer(*Walk(files, "views/npy/a.npy"), TheCache()),
            "views/npy/a.npy");
  EXPECT_EQ(Walk(files, "views/npy/a.npy"), Walk(files, "views/npy/a.npy"));
}

TEST(SharedViews, AreNotOpenedForFilesOfTheFormat) {
  const auto model = Model();
  model->files = {TextFile("d/own", "O", Role::kViews)};
  const Namespace files(
      {.container = model, .stats = StatsFile(), .extras = &Views});
  EXPECT_EQ(*ReadByHandle(files, "views/d/own"), "O");
  EXPECT_EQ(model->asked, 0);
}

TEST(FailedReads, AreInTheNoteAndInFaultsJson) {
  std::string bytes = BuildShard(
      {.entries = {Raw("good", "hello"), Raw("bad", "hello you")}, .role = 16});
  const size_t at = bytes.find("hello you");
  bytes[at] ^= 1;
  const auto shard =
      OpenContainer(std::make_shared<MemorySource>(bytes), OpenOptions());
  ASSERT_TRUE(Ok(shard));
  const Namespace files(
      {.container = *shard, .name = "x", .stats = StatsFile()});
  const auto note = [&](std::string_view path) {
    return (*files.Describe(*Walk(files, path), TheCache()))->note;
  };
  EXPECT_EQ(note("x/bad"), "") << "nobody has read it";
  EXPECT_EQ(*ReadByHandle(files, "x/.ctxfs/faults.json"), "[\n]\n");
  EXPECT_EQ(*ReadByHandle(files, "x/good"), "hello");
  EXPECT_TRUE(Fails(ReadByHandle(files, "x/bad"), Code::kChecksum));
  EXPECT_TRUE(Fails(ReadByHandle(files, "x/bad"), Code::kChecksum));
  EXPECT_EQ(note("x/good"), "");
  EXPECT_TRUE(note("x/bad").starts_with("byte " + std::to_string(at) +
                                        ": checksum mismatch"))
      << note("x/bad");
  const Json faults = Json::parse(*ReadByHandle(files, "x/.ctxfs/faults.json"));
  ASSERT_EQ(faults.size(), 1U) << faults;
  EXPECT_EQ(faults[0]["path"], "bad");
  EXPECT_EQ(faults[0]["offset"], at);
  EXPECT_TRUE(
      faults[0]["reason"].get<std::string>().starts_with("checksum mismatch"));
}

TEST(FailedReads, OfViewsAreToldByTheirContainer) {
  const Namespace files({.container = Model(),
                         .name = "m",
                         .stats = StatsFile(),
                         .extras = &Views});
  EXPECT_TRUE(
      Fails(ReadByHandle(files, "m/views/npy/broken.npy"), Code::kCorrupt));
  const Json faults = Json::parse(*ReadByHandle(files, "m/.ctxfs/faults.json"));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0], Json::parse(R"({"path": "views/npy/broken.npy",
                                       "offset": 7, "reason": "broken"})"));
  EXPECT_EQ(Xattrs(files, "m/views/npy/broken.npy"),
            (Set{"dtype=f32", "shape=[1]", "note=byte 7: broken"}));
  EXPECT_EQ(Xattrs(files, "m/views/npy/a.npy"), (Set{"dtype=f32", "shape=[1]"}))
      << "a computed file is stored nowhere";
  EXPECT_EQ(Xattrs(files, "m/.ctxfs/info.json"), Set{});
}

TEST(FailedReads, ThatAreTemporaryAreNotNoted) {
  const Namespace files({.container = Model(),
                         .name = "m",
                         .stats = StatsFile(),
                         .extras = &Views});
  const Inode inode = *Walk(files, "m/views/npy/a.npy");
  for (const Code code : {Code::kStale, Code::kInterrupted, Code::kNoMemory,
                          Code::kLocked, Code::kTooManyFiles}) {
    files.NoteFailure(inode, {code, "no"}, TheCache());
  }
  EXPECT_EQ(*ReadByHandle(files, "m/.ctxfs/faults.json"), "[\n]\n");
}

TEST(Totals, AreOfPrimaryFiles) {
  const std::string inner =
      BuildShard({.entries = {Raw("x", "hello")}, .role = 16});
  const std::string bytes = BuildShard(
      {.entries = {Raw("in.shard", inner), Raw("a", "hello")}, .role = 16});
  const TempDir dir;
  dir.Write("c.shard", bytes);
  dir.Write("z.zip", BuildZip({{"x", "four"}}));
  const Namespace files({.mirror = MirrorOf(dir.Path("")),
                         .stats = StatsFile(),
                         .extras = &Views});
  EXPECT_EQ(files.Totals().files, 0U);
  EXPECT_EQ(List(files, "c.shard"), (Set{"in.shard", "a"}));
  EXPECT_EQ(files.Totals().files, 2U);
  EXPECT_EQ(files.Totals().bytes, inner.size() + 5);
  EXPECT_EQ(*ReadByHandle(files, "c.shard/views/in.shard~dir/x"), "hello");
  EXPECT_EQ(files.Totals().containers, 2U);
  EXPECT_EQ(files.Totals().files, 2U) << "a view shows the same bytes again";
  EXPECT_EQ(files.Totals().bytes, inner.size() + 5);
  EXPECT_EQ(*ReadByHandle(files, "z.zip~dir/x"), "four");
  EXPECT_EQ(files.Totals().files, 3U);
  EXPECT_EQ(files.Totals().bytes, inner.size() + 9);
}

}  // namespace
}  // namespace ctxfs
