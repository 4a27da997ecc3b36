// SPDX-License-Identifier: Apache-2.0
//
// ModelShard by bytes made for it; merged values of real files are in
// tests/mount/test_conventions.py.
#include "core/formats/model_shard/model_shard.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

#include "core/tree/container_tree.h"
#include "core/views/list/views.h"
#include "core/views/view.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/interrupts.h"
#include "tests/unit/testing/model_shard_builder.h"
#include "tests/unit/testing/result.h"

namespace ctxfs::model_shard {
namespace {

/// Entry 0's name lies outside the string table.
std::string Nameless(const ShardSpec& spec) {
  std::string bytes = BuildShard(spec);
  Poke(bytes, RecordField(0, kNameOffsetField), uint32_t{1 << 30});
  return bytes;
}

TEST(ModelShard, EntriesWithoutANameAreNumbered) {
  const ShardSpec spec{
      .entries = {Raw("x", Tensor(kI8, {2}, "ab")),
                  Raw(".scales", Tensor(kF32, {}, Floats(1)))},
      .metadata =
          R"({"entry_metadata": {"": {"extra": {"ctxfs": {"delta": {}}}}}})"};
  const auto opened =
      OpenContainer(std::make_shared<MemorySource>(Nameless(spec)), {});
  ASSERT_TRUE(Ok(opened));
  EXPECT_EQ(Paths(*opened, "views/tensors/"),
            (std::vector<std::string>{"#0", ".scales"}));
  EXPECT_TRUE(Paths(*opened, "views/dequantized/").empty());
  EXPECT_TRUE(Paths(*opened, "views/merged/").empty());
  EXPECT_EQ(ArraysOf(**opened).size(), 1U);
}

TEST(TensorShard, FilesOfTensorsHavePathsOfEntries) {
  const auto model =
      Model({Raw("a/b", Tensor(kF32, {}, Floats(1))), Raw("short", "abc"),
             Raw("__own__", Floats(9)), Raw("", Tensor(kF32, {}, Floats(1)))});
  const auto tensors = TableWith(*model, "views/tensors/");
  ASSERT_NE(tensors, nullptr);
  EXPECT_EQ(tensors->count(), 4U);
  EXPECT_TRUE(FindFile(*model, "views/tensors/a/b"));
  EXPECT_TRUE(PathIn(*tensors, 0));
  EXPECT_EQ(PathIn(*tensors, 1), std::nullopt);
  EXPECT_EQ(PathIn(*tensors, 2), std::nullopt);
  EXPECT_EQ(Paths(model, "views/tensors/"),
            (std::vector<std::string>{"a/b", "%"}));
}

Json Delta(const std::string& kind, const std::string& base) {
  return {{"delta", {{"kind", kind}, {"base", base}}}};
}

TEST(Deltas, ThatDoNotFitAreNotMerged) {
  Json no_alpha = Delta("lora", "base");
  no_alpha["delta"]["a"] = "a";
  Json packed = Delta("scale", "packed");
  Json sparse = Delta("sparse", "base");
  sparse["delta"]["indices"] = "a";
  const auto model = Model(
      {Raw("base", Tensor(kF32, {2, 3}, Floats(6))),
       Raw("a", Tensor(kF32, {1, 3}, Floats(3))),
       Raw("packed", Tensor(kQint4, {2, 3}, "abcdef")),
       Raw("no_alpha", Tensor(kF32, {2, 1}, Floats(2))),
       Raw("of_packed", Tensor(kF32, {}, Floats(1))),
       Raw("sparse", Tensor(kF32, {3}, Floats(3))),
       Raw("itself", Tensor(kF32, {}, Floats(1))),
       Raw("nowhere", Tensor(kF32, {}, Floats(1))),
       Raw("no_tensor", "abcdefgh"), Raw("odd", Tensor(kF32, {}, Floats(1))),
       Raw("listed", Tensor(kF32, {}, Floats(1))),
       Raw("good", Tensor(kF32, {2}, Floats(2)))},
      {{"no_alpha", no_alpha},
       {"of_packed", packed},
       {"sparse", sparse},
       {"itself", Delta("scale", "itself")},
       {"nowhere", Delta("scale", "none")},
       {"no_tensor", Delta("scale", "base")},
       {"odd", Delta("other", "base")},
       {"listed", {{"delta", Json::array()}}},
       {"good", Delta("scale", "base")}});
  EXPECT_EQ(Paths(model, "views/merged/"), std::vector<std::string>{"good"});
  EXPECT_EQ(WarningsAbout(*model, "not merged: "), 7U);
  EXPECT_EQ(WarningsAbout(*model, "'listed': delta: no object"), 1U);
}

TEST(Deltas, StandEightDeepAndNoDeeper) {
  std::vector<ShardEntry> entries = {Raw("0", Tensor(kF32, {2}, Floats(2)))};
  Json said = Json::object();
  for (int i = 1; i <= 9; ++i) {
    entries.push_back(Raw(std::to_string(i), Tensor(kF32, {}, Floats(1))));
    said[std::to_string(i)] = Delta("scale", std::to_string(i - 1));
  }
  const auto model = Model(std::move(entries), said);
  EXPECT_EQ(Paths(model, "views/merged/").size(), 8U);
  EXPECT_EQ(WarningsAbout(*model, "entry 9 '9'"), 1U);
}

TEST(Deltas, OfALoneContainerNameNoFiles) {
  Json delta = Delta("scale", "x");
  for (const char* file : {"/etc/passwd", "../x", "missing", "."}) {
    delta["delta"]["base_file"] = file;
    const auto model =
        Model({Raw("x", Tensor(kF32, {}, Floats(1)))}, {{"x", delta}});
    EXPECT_TRUE(Paths(model, "views/merged/").empty());
    EXPECT_EQ(WarningsAbout(*model, "base_file"), 1U);
  }
}

TEST(Deltas, IndicesOutOfOrderOrRangeAreEio) {
  const std::vector<std::vector<uint64_t>> cases = {
      {1, 1}, {2, 1}, {0, 6}, {0, UINT64_MAX}};
  for (const std::vector<uint64_t>& indices : cases) {
    std::string positions(16, '\0');
    Poke(positions, 0, indices[0]);
    Poke(positions, 8, indices[1]);
    Json delta = Delta("sparse", "base");
    delta["delta"]["indices"] = "at";
    const auto model = Model({Raw("base", Tensor(kF32, {2, 3}, Floats(6))),
                              Raw("at", Tensor(kI64, {2}, positions)),
                              Raw("x", Tensor(kF32, {2}, Floats(2)))},
                             {{"x", delta}});
    BlockCache cache(1 << 20);
    const Result<Content> content =
        TableWith(*model, "views/merged/")->Open(2, cache);
    ASSERT_TRUE(Ok(content));
    EXPECT_EQ(content->size(), 24U);
    EXPECT_FALSE(ReadAll(*content, cache));
  }
}

ShardEntry Weight(std::string name, std::string tensor) {
  ShardEntry entry = Raw(std::move(name), std::move(tensor));
  entry.content_type = 1;
  return entry;
}

std::string FloatBytes(std::initializer_list<float> values) {
  std::string bytes;
  for (const float value : values) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

/// The files below views/hf, by name.
std::map<std::string, std::string> FilesForLoaders(
    const std::shared_ptr<const Container>& model) {
  const ContainerTree views(
      *ViewsDirectory(model, *ParseViews("hf")).open(LoneContext()));
  BlockCache cache(1 << 20);
  std::map<std::string, std::string> files;
  for (NodeId node = 0; node < views.tree().node_count(); ++node) {
    if (views.tree().IsDirectory(node)) continue;
    const Result<Content> content = views.Open(node, cache);
    EXPECT_TRUE(Ok(content));
    if (!content) continue;
    if (views.tree().Path(node) == "hf.incomplete.txt") continue;
    EXPECT_TRUE(views.tree().Path(node).starts_with("hf/"));
    files[views.tree().Path(node).substr(3)] = *ReadAll(*content, cache);
  }
  return files;
}

Json HeaderOf(const std::string& safetensors) {
  const auto length = LoadLe<uint64_t>(AsBytes(safetensors).data());
  Json header = Json::parse(safetensors.substr(8, length));
  header.erase("__metadata__");
  return header;
}

TEST(ModelShard, AModelWithItsFilesHasADirectoryForLoaders) {
  ShardEntry config = Raw("config.json", "{\"model_type\":\"llama\"}");
  config.content_type = 2;
  const auto model =
      Model({Weight("w.weight", Tensor(kI8, {2, 2}, "\x01\xFF\x02\x03")),
             Weight("w.scales", Tensor(kF32, {2}, FloatBytes({2, 0.5}))),
             Weight("norm", Tensor(kF32, {1}, FloatBytes({7}))), config,
             Raw("tokenizer.json", "{}"), Raw("merges.txt", "a b\n"),
             Raw("notes/config.json", "no"), Raw("__metadata__", "{}")});
  const auto files = FilesForLoaders(model);
  ASSERT_EQ(files.size(), 4U);
  EXPECT_EQ(files.at("config.json"), config.stored);
  EXPECT_EQ(files.at("tokenizer.json"), "{}");
  EXPECT_EQ(files.at("merges.txt"), "a b\n");
  const std::string& weights = files.at("model.safetensors");
  const Json header = HeaderOf(weights);
  ASSERT_EQ(header.size(), 2U) << header;
  EXPECT_EQ(header["w.weight"]["dtype"], "F32");
  EXPECT_EQ(header["w.weight"]["shape"], Json({2, 2}));
  EXPECT_TRUE(weights.ends_with(FloatBytes({2, -2, 1, 1.5, 7})));
  EXPECT_EQ(WarningsAbout(*model, "views/hf"), 0U);
}

TEST(ModelShard, WithoutAConfigThereIsNone) {
  const auto model = Model({Weight("norm", Tensor(kF32, {1}, Floats(1))),
                            Raw("tokenizer.json", "{}")});
  EXPECT_FALSE(MayHaveViews(*model, *ParseViews("hf")));
}

TEST(ModelShard, AWeightWithoutValuesWithholdsTheDirectory) {
  const std::vector<ShardEntry> missing[] = {
      {Weight("bad", Tensor(kF32, {2}, Floats(1)))},
      {Weight("bad", Tensor(kQint4, {2}, "ab"))},
      {Weight("bad", Tensor(9, {1}, "ab"))},
      {Weight("bad", Tensor(kI8, {2, 1}, "ab")),
       Weight("bad.scales", Tensor(kF32, {3}, Floats(3)))},
      {Weight("bad", "")}};
  for (const std::vector<ShardEntry>& entries : missing) {
    std::vector<ShardEntry> all = {Raw("config.json", "{}"),
                                   Weight("w", Tensor(kF32, {1}, Floats(1)))};
    all.insert(all.end(), entries.begin(), entries.end());
    const auto model = Model(all);
    EXPECT_TRUE(FilesForLoaders(model).empty());
    EXPECT_EQ(WarningsAbout(*model, "no views/hf"), 1U);
  }
}

TEST(ModelShard, ASealedWeightWithholdsTheDirectory) {
  const auto model =
      Model({Raw("config.json", "{}"), Weight("x", std::string(40, 'x'))},
            {{"x", {{"encryption", Seal()}}}});
  EXPECT_TRUE(FilesForLoaders(model).empty());
}

TEST(ModelShard, LoadersSeeTheBasesOfDeltasMerged) {
  const auto model =
      Model({Raw("config.json", "{}"),
             Weight("w", Tensor(kF32, {2}, FloatBytes({1, 3}))),
             Weight("d", Tensor(kF32, {}, FloatBytes({2}))),
             Weight("e", Tensor(kF32, {}, FloatBytes({10})))},
            {{"d", {{"delta", {{"kind", "scale"}, {"base", "w"}}}}},
             {"e", {{"delta", {{"kind", "scale"}, {"base", "d"}}}}}});
  const auto files = FilesForLoaders(model);
  ASSERT_TRUE(files.contains("model.safetensors"));
  const Json header = HeaderOf(files.at("model.safetensors"));
  ASSERT_EQ(header.size(), 1U) << header;
  EXPECT_TRUE(header.contains("w"));
  EXPECT_TRUE(files.at("model.safetensors").ends_with(FloatBytes({20, 60})));
}

TEST(ModelShard, TwoDeltasOfOneWeightAreNotOneModel) {
  const Json delta = {{"delta", {{"kind", "scale"}, {"base", "w"}}}};
  const auto model = Model(
      {Raw("config.json", "{}"), Weight("w", Tensor(kF32, {1}, Floats(1))),
       Weight("d", Tensor(kF32, {}, Floats(1))),
       Weight("e", Tensor(kF32, {}, Floats(1)))},
      {{"d", delta}, {"e", delta}});
  EXPECT_TRUE(FilesForLoaders(model).empty());
}

TEST(ModelShard, MakingItsArraysStopsWhenItIsInterrupted) {
  std::vector<ShardEntry> entries;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "w" + std::to_string(i);
    entries.push_back(Raw(name, Tensor(kI8, {1}, "a")));
    entries.push_back(Raw(name + ".scales", Tensor(kF32, {}, Floats(1))));
  }
  const auto model = Model(std::move(entries));
  const Exports exports = model->Export();
  BlockCache cache(0);
  // 40 checks while headers are read, and then one for each tensor with scales.
  for (const uint64_t checks : {3U, 50U}) {
    const InterruptAfter interrupt(checks);
    const auto arrays = exports.arrays(ReadContext(cache, interrupt));
    EXPECT_LT(arrays.size(), checks == 3 ? 1000U : 10'020U);
    EXPECT_LE(interrupt.asked(), checks + 10);
  }
  EXPECT_EQ(exports.arrays(cache).size(), 15'000U);
}

}  // namespace
}  // namespace ctxfs::model_shard
