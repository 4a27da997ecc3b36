// SPDX-License-Identifier: Apache-2.0
#include "core/tree/container_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/container/open.h"
#include "core/tree/index_json.h"
#include "tests/unit/testing/fake_container.h"
#include "tests/unit/testing/fake_tree.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/find_path.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

using Paths = std::vector<std::string>;

Result<std::string> Read(const ContainerTree& container_tree,
                         std::string_view path) {
  const std::optional<NodeId> node = Find(container_tree, path);
  if (!node) return Error{Code::kNotFound, std::string(path)};
  BlockCache cache(1 << 20);
  Result<Content> content = container_tree.Open(*node, cache);
  if (!content) return std::move(content).error();
  Result<std::string> bytes = ReadAll(*content, cache);
  EXPECT_EQ(*container_tree.Size(*node, cache), bytes ? bytes->size() : 0);
  return bytes;
}

/// The paths of entries 0, 1, ...
Paths EntryPaths(const ContainerTree& container_tree) {
  Paths paths(EntryCount(container_tree.container()));
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    if (const auto entry = container_tree.Entry(node)) {
      paths[*entry] = container_tree.tree().Path(node);
    }
  }
  return paths;
}

TEST(ContainerTree, PutsEntriesUnderTheirSafeNames) {
  const ContainerTree container_tree(
      Fake({"model/layer0", "../up", "", "a//b", std::nullopt, "dup.x", "dup.x",
            "model", "/", "#4"}));
  EXPECT_EQ(EntryPaths(container_tree),
            (Paths{"model/layer0", "%2E%2E/up", "%~file", "a/%/b", "#4",
                   "dup.x", "dup~2.x", "model~file", "%/%", "#4~2"}));
  EXPECT_EQ(*Read(container_tree, "model~file"), "of model");
  EXPECT_EQ(*Read(container_tree, "#4"), "of (none)");
}

std::shared_ptr<FakeContainer> FakeArchive(Names names) {
  std::shared_ptr<FakeContainer> archive = Fake(std::move(names));
  archive->plain_paths = true;
  return archive;
}

TEST(ContainerTree, Item41_6_OddNamesHaveTheirPlainPathsWhereTheyAreFree) {
  struct Case {
    Names names;
    Paths paths;
  };
  const Case cases[] = {
      {{"a//b", "c/./d", "./e", "/f", "//g/././/h"},
       {"a/b", "c/d", "e", "f", "g/h"}},
      // A name that is the path keeps it, in any order.
      {{"a//b", "a/b"}, {"a/%/b", "a/b"}},
      {{"a/b", "a//b"}, {"a/b", "a/%/b"}},
      {{"a//b", "a/b", "a/b"}, {"a/%/b", "a/b", "a/b~2"}},
      {{"/x", "x/y"}, {"%/x", "x/y"}},
      {{"x/y", "/x"}, {"x/y", "%/x"}},
      // Of several that have the same plain path the first has it.
      {{"a//b", "a/./b", "a//b"}, {"a/b", "a/%2E/b", "a/%/b"}},
      // The directories above an odd name are there, too, in any order.
      {{"a/./b", "a//b/c"}, {"a/%2E/b", "a/b/c"}},
      {{"a//b/c", "a/./b"}, {"a/b/c", "a/%2E/b"}},
      {{"a/b", "a//b/c"}, {"a/b~file", "a/b/c"}},
      // What ends in a component that is left out, and what goes up.
      {{"t/", "./.", "/", "u//"}, {"t/%", "%2E/%2E", "%/%", "u/%/%"}},
      {{"./../x", "a/.././/y", "/../.."},
       {"%2E%2E/x", "a/%2E%2E/y", "%2E%2E/%2E%2E"}},
      {{"a/%/b", "a//b"}, {"a/%25/b", "a/b"}},
  };
  for (const Case& c : cases) {
    const ContainerTree container_tree(FakeArchive(c.names));
    EXPECT_EQ(EntryPaths(container_tree), c.paths);
    for (size_t i = 0; i < c.names.size(); ++i) {
      EXPECT_EQ(*Read(container_tree, c.paths[i]), "of " + *c.names[i]);
    }
  }
}

TEST(ContainerTree, Item41_6_ManyOddNamesTakeTimeInProportion) {
  Names names;
  for (int i = 0; i < 20'000; ++i) {
    names.push_back("d//" + std::string(static_cast<size_t>(i % 7) + 1, '/') +
                    "x");
  }
  const ContainerTree container_tree(FakeArchive(names));
  EXPECT_TRUE(Ok(container_tree.status()));
  EXPECT_EQ(*Read(container_tree, "d/x"), "of d///x");
  EXPECT_LT(container_tree.tree().names_tried(), 100'000U);
}

TEST(ContainerTree, HasTheFilesOfEveryContainer) {
  const ContainerTree container_tree(Fake({"a"}));
  EXPECT_EQ(*Read(container_tree, ".ctxfs/container"), "the container's bytes");
  EXPECT_EQ(*Read(container_tree, ".ctxfs/info.json"),
            "{\n \"container_size\": 21,\n \"format\": \"fake\",\n"
            " \"warnings\": []\n}\n");
  EXPECT_EQ(Json::parse(*Read(container_tree, ".ctxfs/index.json"))[0]["path"],
            "a");
  EXPECT_EQ(*Read(container_tree, "a"), "of a");
}

TEST(ContainerTree, NeverHidesAnEntryBehindAFileOfOurs) {
  struct Case {
    Names names;
    Paths paths;
    const char* ours;
  };
  const Case cases[] = {
      {{".ctxfs"}, {".ctxfs"}, ".ctxfs~2"},
      {{".ctxfs/info.json"}, {".ctxfs/info.json"}, ".ctxfs~2"},
      {{".ctxfs/container/x", ".ctxfs"},
       {".ctxfs/container/x", ".ctxfs~file"},
       ".ctxfs~2"},
      {{".ctxfs", ".ctxfs"}, {".ctxfs", ".ctxfs~2"}, ".ctxfs~3"},
      {{".ctxfs", ".ctxfs~2/y"}, {".ctxfs", ".ctxfs~2/y"}, ".ctxfs~3"},
      {{".ctxfsx", "a/.ctxfs"}, {".ctxfsx", "a/.ctxfs"}, ".ctxfs"},
  };
  for (const Case& c : cases) {
    const ContainerTree container_tree(Fake(c.names));
    EXPECT_EQ(EntryPaths(container_tree), c.paths);
    for (size_t i = 0; i < c.names.size(); ++i) {
      EXPECT_EQ(*Read(container_tree, c.paths[i]), "of " + *c.names[i]);
    }
    for (const char* file : {"/info.json", "/index.json", "/container"}) {
      EXPECT_TRUE(Ok(Read(container_tree, std::string(c.ours) + file)))
          << c.ours;
    }
  }
}

TEST(ContainerTree, MakesRoomForTheFormatsOwnFiles) {
  const auto fake = Fake({"model.json", "tensors", "x"});
  fake->files = {TextFile("model.json", "ours"), TextFile("tensors/a", "A"),
                 TextFile("tensors/b/c", "C"), TextFile("../odd//name", "odd"),
                 TextFile("metadata.json", "M", Role::kMetadata)};
  const ContainerTree container_tree(fake,
                                     {TextFile("stats", "S", Role::kMetadata)});
  EXPECT_EQ(EntryPaths(container_tree), (Paths{"model.json", "tensors", "x"}));
  EXPECT_EQ(*Read(container_tree, "model~2.json"), "ours");
  EXPECT_EQ(*Read(container_tree, "tensors~2/a"), "A");
  EXPECT_EQ(*Read(container_tree, "tensors~2/b/c"), "C");
  EXPECT_EQ(*Read(container_tree, "%2E%2E/odd/%/name"), "odd");
  EXPECT_EQ(*Read(container_tree, ".ctxfs/metadata.json"), "M");
  EXPECT_EQ(*Read(container_tree, ".ctxfs/stats"), "S");
}

TEST(ContainerTree, PutsEntriesIntoTheDirectoryTheyAsk) {
  const auto fake = Fake({"a", "d/b", std::nullopt, "entries"});
  fake->directory = "entries";
  fake->files = {TextFile("entries/own", "O")};
  const ContainerTree container_tree(fake);
  EXPECT_EQ(
      EntryPaths(container_tree),
      (Paths{"entries/a", "entries/d/b", "entries/#2", "entries/entries"}));
  EXPECT_EQ(*Read(container_tree, "entries~2/own"), "O");
}

TEST(ContainerTree, MakesADirectoryOfEachSubContainer) {
  const auto fake = Fake({"chunks", "x"});
  const auto none = [](const ReadContext& /*context*/)
      -> Result<std::shared_ptr<const Source>> {
    return Error{Code::kIo, "not asked for"};
  };
  fake->children = {{"chunks/0", none}, {"chunks/0", none}, {"x", none}};
  const ContainerTree container_tree(fake);
  EXPECT_EQ(EntryPaths(container_tree), (Paths{"chunks", "x"}));
  const auto shows_container = [&](std::string_view path) {
    return container_tree.ShowsContainer(*Find(container_tree, path));
  };
  EXPECT_TRUE(shows_container("chunks~2/0"));
  EXPECT_TRUE(shows_container("chunks~2/0~2"));
  EXPECT_TRUE(shows_container("x~2"));
  EXPECT_FALSE(shows_container("chunks~2"));
  EXPECT_FALSE(container_tree.ShowsContainer(NameTree::kRoot));
}

TEST(ContainerTree, KnowsWhatIsCheapAndWhatIsLive) {
  const auto fake = Fake({"a"});
  EntryInfo tensor;
  tensor.kind = "tensor";
  fake->files = {
      FixedFile(Role::kPrimary, "sized", TextContent("12345"), tensor),
      TextFile("live", "L", Role::kPrimary, /*live=*/true)};
  const ContainerTree container_tree(fake);
  const auto at = [&](const char* path) { return *Find(container_tree, path); };
  EXPECT_EQ(container_tree.SizeCost(at("a")), Cost::kNone);
  EXPECT_EQ(container_tree.SizeCost(at("sized")), Cost::kNone);
  EXPECT_EQ(container_tree.SizeCost(at("live")), Cost::kDecode);
  EXPECT_EQ(container_tree.SizeCost(at(".ctxfs/info.json")), Cost::kDecode);
  EXPECT_TRUE(container_tree.At(at("live")).table->live());
  for (const char* path : {"a", "sized", ".ctxfs/info.json"}) {
    EXPECT_FALSE(container_tree.At(at(path)).table->live()) << path;
  }
  EXPECT_EQ(container_tree.Describe(at("a"), LoneContext())->name, "a");
  EXPECT_EQ(container_tree.Describe(at("sized"), LoneContext())->kind,
            "tensor");
  for (const char* path : {"live", ".ctxfs", ".ctxfs/info.json", ""}) {
    EXPECT_FALSE(container_tree.Describe(at(path), LoneContext()).has_value())
        << path;
    EXPECT_EQ(container_tree.Entry(at(path)), std::nullopt) << path;
  }
}

TEST(ContainerTree, IsTheSameOnEveryBuild) {
  Names names;
  for (int i = 0; i < 2000; ++i) {
    names.emplace_back("d" + std::to_string(i % 13) + "/n" +
                       std::to_string(i % 300));
  }
  names.insert(names.end(), {"d1", ".ctxfs", "", "d1/n1/below", "views"});
  const ContainerTree one(Fake(names));
  const ContainerTree two(Fake(names));
  ASSERT_EQ(one.tree().node_count(), two.tree().node_count());
  for (NodeId node = 0; node < one.tree().node_count(); ++node) {
    ASSERT_EQ(one.tree().Path(node), two.tree().Path(node));
    ASSERT_EQ(one.Entry(node), two.Entry(node));
  }
  EXPECT_EQ(*Read(one, ".ctxfs~2/index.json"),
            *Read(two, ".ctxfs~2/index.json"));
}

TEST(ContainerTree, SumsSizesWithoutWrapping) {
  EXPECT_EQ(ContainerTree(Fake({"a", "bcd"})).TotalSize(), 4 + 6U);
  EXPECT_EQ(ContainerTree(Fake({})).TotalSize(), 0U);
  std::string head = BuildShard({{Raw("a", ""), Raw("b", "")}, 0, /*role=*/5});
  Poke(head, 40, UINT64_MAX);
  for (const uint32_t entry : {0U, 1U}) {
    Poke(head, RecordField(entry, kDiskSizeField), uint64_t{1} << 63);
  }
  const ContainerResult huge = OpenAs<shard::ShardContainer>(
      std::make_shared<SparseSource>(head, UINT64_MAX), {});
  ASSERT_TRUE(Ok(huge));
  EXPECT_EQ(ContainerTree(*huge).TotalSize(), UINT64_MAX);
}

TEST(ContainerTree, OpensTheEntryThatANodeIs) {
  const ContainerResult shard = OpenBytes(BuildShard(
      {{Raw("d/a", "hello"), ZstdEntry("d/z", Prose(3000)), Raw("d/a", "two")},
       0x0020,
       1,
       0,
       R"({"k":1})"}));
  ASSERT_TRUE(Ok(shard));
  const ContainerTree container_tree(*shard);
  EXPECT_EQ(*Read(container_tree, "d/a"), "hello");
  EXPECT_EQ(*Read(container_tree, "d/a~2"), "two");
  EXPECT_TRUE(*Read(container_tree, "d/z") == Prose(3000));
  EXPECT_EQ(*Read(container_tree, ".ctxfs/metadata.json"), R"({"k":1})");
  EXPECT_EQ(container_tree.TotalSize(), 5 + 3000 + 3U);
}

TEST(IndexJson, HasAnObjectForEveryEntryInIndexOrder) {
  const std::string bytes =
      BuildShard({{Raw("b", "hello"), ZstdEntry("../z", Prose(3000)),
                   Raw("b", "x"), Raw("\xff", "y")},
                  0x0020,
                  1,
                  0,
                  R"({"entry_metadata":{"b":{"shape":[5]}}})"});
  const ContainerResult shard = OpenBytes(bytes);
  ASSERT_TRUE(Ok(shard));
  const std::string text = *Read(ContainerTree(*shard), ".ctxfs/index.json");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 + 2)
      << "each on a line";
  const Json index = Json::parse(text);
  ASSERT_EQ(index.size(), 4U);
  EXPECT_EQ(index[0], Json::parse(R"({
      "path": "b", "name": "b", "kind": "entry", "size": 5, "stored_size": 5,
      "offset": )" + std::to_string(bytes.find("hello")) +
                                  R"(,
      "codec": "none", "checksum": "crc32c:9a71bb4c",
      "content_type": "0 unknown", "flags": 0,
      "metadata": {"shape": [5]}})"));
  EXPECT_EQ(index[1]["path"], "%2E%2E/z");
  EXPECT_EQ(index[1]["name"], "../z");
  EXPECT_EQ(index[1]["codec"], "zstd");
  EXPECT_EQ(index[1]["size"], 3000);
  EXPECT_EQ(index[2]["path"], "b~2");
  EXPECT_EQ(index[2]["name"], "b");
  EXPECT_EQ(index[3]["name"], "\xEF\xBF\xBD");
  EXPECT_EQ(index[3]["name_hex"], "ff");
  EXPECT_EQ(index[3]["path_hex"], "ff");
  EXPECT_FALSE(index[0].contains("name_hex"));
}

TEST(IndexJson, SaysWhenThereIsNoName) {
  const Json index = Json::parse(
      *Read(ContainerTree(Fake({std::nullopt, ""})), ".ctxfs/index.json"));
  EXPECT_EQ(index[0]["name"], nullptr);
  EXPECT_EQ(index[0]["path"], "#0");
  EXPECT_EQ(index[1]["name"], "");
  EXPECT_EQ(index[1]["path"], "%");
}

TEST(IndexJson, TellsOfArraysAndNotes) {
  EntryInfo info;
  info.name = "t";
  info.dtype = "bf16";
  info.shape = std::vector<uint64_t>{2, 3};
  info.note = "a guess";
  info.extra = {{"path", "not this one"}, {"own", true}};
  const Json object = EntryJson(info, "tensors/t");
  EXPECT_EQ(object["dtype"], "bf16");
  EXPECT_EQ(object["shape"], Json({2, 3}));
  EXPECT_EQ(object["note"], "a guess");
  EXPECT_EQ(object["own"], true);
  EXPECT_EQ(object["path"], "tensors/t");
}

TEST(IndexJson, IsNeverMadeOfHalfWhatThereIs) {
  const auto source = std::make_shared<FaultySource>(
      BuildShard({{Compressed("x", "hello", Zstd("hello"), 0x0007)},
                  0x0020,
                  1,
                  0,
                  R"({"entry_metadata":{"x":{"shape":[5]}}})"}));
  const ContainerResult shard = OpenAs<shard::ShardContainer>(source, {});
  ASSERT_TRUE(Ok(shard));
  const ContainerTree container_tree(*shard);
  const NodeId node = *Find(container_tree, ".ctxfs/index.json");
  BlockCache cache(1 << 20);
  for (const uint64_t call : {0U, 1U}) {  // the metadata, the codec's magic
    cache.Drop();
    source->FailAfter(call);
    (void)container_tree.Open(node, cache).has_value();
    source->Heal();
    const Result<Content> content = container_tree.Open(node, cache);
    ASSERT_TRUE(Ok(content));
    const Json index = Json::parse(*ReadAll(*content, cache));
    EXPECT_EQ(index[0]["codec"], "zstd") << call;
    EXPECT_TRUE(index[0].contains("metadata"))
        << "an I/O error must not be remembered, call " << call;
  }
}

// More entries than a block has, and names that end a block sooner.
TEST(IndexJson, IsTheSameInBlocks) {
  for (const size_t length : {size_t{0}, size_t{60'000}}) {
    const size_t count = length == 0 ? 70'000 : 200;
    Names names;
    for (size_t i = 0; i < count; ++i) {
      names.emplace_back(std::to_string(i) + std::string(length, 'n'));
    }
    const ContainerTree container_tree(Fake(names));
    const std::string text = *Read(container_tree, ".ctxfs/index.json");
    const Json index = Json::parse(text);
    ASSERT_EQ(index.size(), count);
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(index[i]["name"], *names[i]);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
              static_cast<ptrdiff_t>(count) + 2);
  }
}

TEST(ContainerTree, OfTooManyNamesIsOneThatCannotBeRead) {
  const auto fake = Fake({"a/b", "a/c", "d"});
  const TreeLimits enough{.nodes = 10, .name_bytes = 1 << 20};
  EXPECT_TRUE(ContainerTree(fake, {}, {}, enough).status());
  const ContainerTree container_tree(fake, {}, {},
                                     {.nodes = 9, .name_bytes = 1 << 20});
  ASSERT_FALSE(container_tree.status());
  EXPECT_EQ(container_tree.status().error().code, Code::kLimit);
  EXPECT_EQ(container_tree.TotalSize(), 0U);
  EXPECT_EQ(EntryCount(container_tree.container()), 0U);
  EXPECT_EQ(*Read(container_tree, ".ctxfs/container"), "the container's bytes");
  const std::string info = *Read(container_tree, ".ctxfs/info.json");
  EXPECT_NE(info.find("more than 9 files"), std::string::npos) << info;
  EXPECT_EQ(Find(container_tree, "d"), std::nullopt);
}

}  // namespace
}  // namespace ctxfs
