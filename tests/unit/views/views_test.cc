// SPDX-License-Identifier: Apache-2.0
#include "core/views/list/views.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/tree/container_tree.h"
#include "core/vfs/namespace.h"
#include "core/views/arrays/elements.h"
#include "core/views/view.h"
#include "tests/unit/testing/fake_arrays.h"
#include "tests/unit/testing/result.h"

namespace ctxfs {
namespace {

using namespace std::string_literals;

std::shared_ptr<FakeArrays> Model() {
  return std::make_shared<FakeArrays>(
      std::vector<ArrayInfo>{
          Array("a", DType::kF32, {1}, "\0\0\x80\x3f"s),
          Array("b", DType::kBf16, {2}, "\x80\x3f\x81\xff"s),
          Array("b", DType::kU8, {1}, "x"),
          Array("wide", DType::kU8, std::vector<uint64_t>(33, 1), "x"),
          Array("huge", DType::kU8, {uint64_t{1} << 62, 4, 0}, "")},
      Exports{.bundle_name = "model"});
}

/// What is in views/, by path.
std::map<std::string, std::string> ViewsOf(
    const std::shared_ptr<const Container>& container, const ViewSet& views) {
  const ContainerTree container_tree(
      *ViewsDirectory(container, views).open(LoneContext()));
  BlockCache cache(1 << 20);
  std::map<std::string, std::string> files;
  for (NodeId node = 0; node < container_tree.tree().node_count(); ++node) {
    if (container_tree.IsDirectory(node)) continue;
    const Result<Content> content = container_tree.Open(node, cache);
    EXPECT_TRUE(Ok(content)) << container_tree.Path(node);
    if (!content) continue;
    EXPECT_EQ(*container_tree.Size(node, cache), content->size())
        << container_tree.Path(node);
    files[container_tree.Path(node)] = *ReadAll(*content, cache);
  }
  return files;
}

std::string Tail(const std::string& text, size_t n) {
  return text.substr(text.size() - n);
}

TEST(ViewsTest, ListsAreRead) {
  EXPECT_EQ(ParseViews("all"), AllViews());
  EXPECT_EQ(ParseViews("none"), ViewSet());
  EXPECT_EQ(ParseViews("npy:hf")->size(), 2U);
  EXPECT_EQ(ParseViews("npy,hf"), ParseViews("hf:npy"));
  EXPECT_EQ(ParseViews(ViewNames()), AllViews());
  for (const char* none : {"", "npy:", ":npy", "np", "npy hf", "all:npy"}) {
    EXPECT_FALSE(ParseViews(none)) << none;
  }
}

TEST(ViewsTest, ArraysOfUsualShapesHaveFiles) {
  const auto files = ViewsOf(Model(), AllViews());
  std::vector<std::string> paths;
  for (const auto& [path, bytes] : files) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"model.safetensors", "npy/a.npy",
                                             "npy/b.npy", "npy/b~2.npy",
                                             "overview.html", "raw16/b.npy"}));
  EXPECT_EQ(Tail(files.at("npy/a.npy"), 4), "\0\0\x80\x3f"s);
  // Widened exactly, a signalling NaN too.
  EXPECT_EQ(Tail(files.at("npy/b.npy"), 8), "\0\0\x80\x3f\0\0\x81\xff"s);
  EXPECT_NE(files.at("npy/b.npy").find("'<f4'"), std::string::npos);
  EXPECT_EQ(Tail(files.at("raw16/b.npy"), 4), "\x80\x3f\x81\xff"s);
  EXPECT_NE(files.at("raw16/b.npy").find("'<u2'"), std::string::npos);
}

TEST(ViewsTest, OnlyWhatWasAskedForIsMade) {
  const auto files = ViewsOf(Model(), *ParseViews("raw16"));
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files.begin()->first, "raw16/b.npy");
  EXPECT_FALSE(MayHaveViews(*Model(), *ParseViews("none")));
  EXPECT_FALSE(MayHaveViews(*Model(), *ParseViews("fvecs")));
  EXPECT_TRUE(MayHaveViews(*Model(), AllViews()));
  EXPECT_FALSE(MayHaveViews(FakeContainer({}), AllViews()));
}

TEST(ViewsTest, AModelWithAConfigHasADirectoryOfItsOwn) {
  const auto model = Model();
  model->exports.documents = {
      {DocumentRole::kConfig, TextFile("the config", "{}")},
      {DocumentRole::kDescription, TextFile("other.json", "")}};
  const auto files = ViewsOf(model, *ParseViews("hf:safetensors"));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("hf/config.json"), "{}");
  EXPECT_EQ(files.at("hf/model.safetensors"), files.at("model.safetensors"));
}

TEST(ViewsTest, Item43_1_APassingErrorIsNotTheAnswer) {
  const auto model = Model();
  Status complete = Error{Code::kIo, "cannot be read", kNoOffset, EIO};
  model->exports.complete = [&](const ReadContext& /*context*/) {
    return complete;
  };
  const ChildContainer views = ViewsDirectory(model, AllViews());
  EXPECT_TRUE(Fails(views.open(LoneContext()), Code::kIo));
  complete = Status();
  EXPECT_TRUE(Ok(views.open(LoneContext())));
  EXPECT_TRUE(ViewsOf(model, AllViews()).contains("model.safetensors"));
  // Nothing but a change of the file or its permissions ends these.
  for (const Error& error :
       {Error{Code::kIo, "cannot be opened", kNoOffset, EACCES},
        Error{Code::kCorrupt, "cut"}}) {
    complete = error;
    EXPECT_TRUE(ViewsOf(model, AllViews())
                    .contains("model.safetensors.incomplete.txt"));
  }
}

TEST(ViewsTest, Item43_1_APassingErrorOfWeightsOrMetadataIsNotTheAnswer) {
  const auto model = Model();
  model->exports.documents = {
      {DocumentRole::kConfig, TextFile("the config", "{}")}};
  const Error passing{Code::kIo, "cannot be read", kNoOffset, EIO};
  model->exports.weights =
      [&](const ReadContext& /*context*/) -> Result<std::vector<ArrayInfo>> {
    return passing;
  };
  EXPECT_TRUE(
      Fails(ViewsDirectory(model, AllViews()).open(LoneContext()), Code::kIo));
  model->exports.weights = nullptr;
  model->metadata = Json(Json::value_t::discarded);
  EXPECT_TRUE(
      Fails(ViewsDirectory(model, AllViews()).open(LoneContext()), Code::kIo));
}

TEST(ViewsTest, MetadataOfItsOwnIsTold) {
  const auto model = Model();
  model->metadata = {{"author", "me"}};
  model->exports.documents = {
      {DocumentRole::kDescription,
       TextFile("any name", R"({"author":"you","n":1})")}};
  const auto files = ViewsOf(model, *ParseViews("safetensors"));
  EXPECT_NE(files.at("model.safetensors")
                .find(R"({"author":"me","format":"pt","n":"1"})"),
            std::string::npos);
}

TEST(ViewsTest, RowsOfVectorsAreVecs) {
  const auto vectors = std::make_shared<FakeArrays>(
      std::vector<ArrayInfo>{Array("f", DType::kF32, {1, 1}, "abcd"),
                             Array("h", DType::kF16, {1, 1}, "\0\x3c"s),
                             Array("i", DType::kI32, {1, 1}, "abcd"),
                             Array("b", DType::kU8, {2, 1}, "xy"),
                             Array("q", DType::kI8, {1, 1}, "q"),
                             Array("flat", DType::kF32, {1}, "abcd"),
                             Array("empty", DType::kF32, {3, 0}, "")},
      Exports{.bundle_name = "vectors", .vectors = true});
  const auto files = ViewsOf(vectors, *ParseViews("fvecs"));
  const std::string one = "\1\0\0\0"s;
  EXPECT_EQ(files, (std::map<std::string, std::string>{
                       {"fvecs/f.fvecs", one + "abcd"},
                       {"fvecs/h.fvecs", one + "\0\0\x80\x3f"s},
                       {"fvecs/i.ivecs", one + "abcd"},
                       {"fvecs/b.bvecs", one + "x" + one + "y"}}));
}

TEST(ViewsTest, AnArrayThatIsNotItsShapeIsAnError) {
  BlockCache cache(0);
  EXPECT_TRUE(Fails(OpenElements(Array("a", DType::kF32, {2}, "abcd"), cache),
                    Code::kCorrupt));
  EXPECT_TRUE(Ok(OpenElements(Array("a", DType::kF32, {1}, "abcd"), cache)));
}

TEST(ViewsTest, AnyWindowOfWidenedElementsIsThatOfTheWhole) {
  BlockCache cache(0);
  const Content wide = WidenElements(DType::kBf16, TextContent("abcdef"));
  const std::string all = "\0\0ab\0\0cd\0\0ef"s;
  for (size_t from = 0; from <= all.size(); ++from) {
    for (size_t length = 0; length <= all.size() - from; ++length) {
      Buffer buffer(length);
      ASSERT_TRUE(ReadInto(wide, from, buffer.span(), cache));
      ASSERT_EQ(AsText(buffer.span()), all.substr(from, length));
    }
  }
}

/// The names in a directory, as a reader lists them.
std::vector<std::string> List(const Namespace& files, Inode directory) {
  BlockCache cache(1 << 20);
  auto listing = files.OpenDirectory(directory, cache);
  EXPECT_TRUE(Ok(listing));
  std::vector<std::string> names;
  for (uint64_t i = 0; listing && i < (*listing)->count(); ++i) {
    if (auto name = (*listing)->At(i, false, LoneContext()))
      names.push_back(name->name);
  }
  return names;
}

Inode Find(const Namespace& files, Inode directory, std::string_view name) {
  BlockCache cache(1 << 20);
  const auto found = files.Lookup(directory, name, cache);
  EXPECT_TRUE(found && *found) << name;
  return found && *found ? (*found)->inode : 0;
}

TEST(ViewsTest, HangInANamespaceAndAreMadeWhenLookedInto) {
  const auto model = Model();
  // The format makes a view of its own, and the two are one directory.
  model->files = {TextFile("own.txt", "mine", Role::kViews)};
  const auto shown = [&](ListMode mode) {
    return Shown{.container = model,
                 .stats = TextFile("stats", "S", Role::kMetadata),
                 .list_mode = mode,
                 .extras = [](const std::shared_ptr<const Container>& of) {
                   std::vector<ChildContainer> views;
                   if (MayHaveViews(*of, AllViews())) {
                     views.push_back(ViewsDirectory(of, AllViews()));
                   }
                   return views;
                 }};
  };
  EXPECT_EQ(List(Namespace(shown(ListMode::kPrimary)), kRootInode),
            std::vector<std::string>());
  const Namespace files(shown(ListMode::kAll));
  EXPECT_EQ(List(files, kRootInode),
            (std::vector<std::string>{"views", ".ctxfs"}));
  const Inode views = Find(files, kRootInode, "views");
  EXPECT_EQ(model->asked, 0) << "neither listing nor look-up";
  EXPECT_EQ(List(files, views),
            (std::vector<std::string>{"own.txt", "model.safetensors",
                                      "overview.html", "npy", "raw16"}));
  const Inode npy = Find(files, views, "npy");
  const Inode a = Find(files, npy, "a.npy");
  EXPECT_EQ(model->asked, 1);
  EXPECT_EQ(files.PathInContainer(a, LoneContext()), "views/npy/a.npy");
  EXPECT_EQ(files.Path(a, LoneContext()), "views/npy/a.npy");
  EXPECT_EQ(files.Parent(npy, LoneContext()), views);
  EXPECT_EQ(files.Totals().containers, 1U);
}

}  // namespace
}  // namespace ctxfs
