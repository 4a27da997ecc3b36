// SPDX-License-Identifier: Apache-2.0
//
// ModelShard, GemmShard and what conventions say, by bytes made for it. Real
// keys, merged values and matrices are tests/golden/conventions_golden_test.cc.
#include "core/formats/model_shard/model_shard.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>

#include "core/tree/container_tree.h"
#include "core/views/view.h"
#include "tests/unit/testing/faulty_source.h"
#include "tests/unit/testing/files.h"
#include "tests/unit/testing/result.h"
#include "tests/unit/testing/shard_builder.h"

namespace ctxfs {
namespace {

constexpr uint8_t kF32 = 1;
constexpr uint8_t kI8 = 4;
constexpr uint8_t kI64 = 7;
constexpr uint8_t kQint4 = 0x10;

std::string Tensor(uint8_t code, std::initializer_list<uint64_t> shape,
                   const std::string& data) {
  std::string bytes(4 + 8 * shape.size(), '\0');
  bytes[0] = static_cast<char>(code);
  bytes[1] = static_cast<char>(shape.size());
  size_t at = 4;
  for (const uint64_t dimension : shape) {
    Poke(bytes, at, dimension);
    at += 8;
  }
  return bytes + data;
}

std::string Floats(size_t count) { return std::string(4 * count, '\0'); }

Result<std::shared_ptr<const Container>> OpenSpec(const ShardSpec& spec,
                                                  OpenOptions options = {}) {
  return OpenContainer(std::make_shared<MemorySource>(BuildShard(spec)),
                       options);
}

/// Entries, and `metadata` as entry_metadata[NAME].extra.ctxfs.
std::shared_ptr<const Container> Model(std::vector<ShardEntry> entries,
                                       const Json& said = Json::object(),
                                       uint8_t role = 1,
                                       OpenOptions options = {}) {
  Json metadata;
  for (const auto& [name, object] : said.items()) {
    metadata["entry_metadata"][name]["extra"]["ctxfs"] = object;
  }
  const auto opened = OpenSpec({.entries = std::move(entries),
                                .role = role,
                                .metadata = metadata.dump()},
                               std::move(options));
  EXPECT_TRUE(Ok(opened));
  return *opened;
}

OpenOptions WithKey() {
  OpenOptions options;
  options.key =
      std::make_shared<const MasterKey>(AsBytes(std::string(32, 'k')));
  return options;
}

Json Seal() {
  return {{"scheme", "aes-256-gcm"},
          {"kdf", "hkdf-sha256"},
          {"salt", "AAAAAAAAAAAAAAAAAAAAAA=="},
          {"inner_codec", "none"}};
}

size_t WarningsAbout(const Container& container, const std::string& what) {
  size_t count = 0;
  const Json info = container.Info(LoneContext());
  for (const Json& warning : info["warnings"]) {
    count += warning.get<std::string>().find(what) != std::string::npos;
  }
  return count;
}

/// The paths of files that are there.
std::vector<std::string> Paths(const std::shared_ptr<const Container>& from,
                               std::string_view directory) {
  const ContainerTree branch(from);
  BlockCache cache(1 << 20);
  std::vector<std::string> paths;
  for (NodeId node = 0; node < branch.tree().node_count(); ++node) {
    const std::string path = branch.tree().Path(node);
    if (branch.tree().IsDirectory(node) || !path.starts_with(directory)) {
      continue;
    }
    const Result<bool> exists = branch.Exists(node, Cost::kDecode, cache);
    EXPECT_TRUE(Ok(exists));
    if (exists && *exists) paths.push_back(path.substr(directory.size()));
  }
  return paths;
}

TEST(Sealed, IsLockedWithoutAKeyInEveryRole) {
  constexpr uint8_t kRoles[] = {0, 1, 2, 3, 5, 6, 7, 8, 16};
  for (const uint8_t role : kRoles) {
    const auto shard = Model({Raw("x", std::string(40, 'x'))},
                             {{"x", {{"encryption", Seal()}}}}, role);
    EXPECT_TRUE(EntryLocked(*shard, 0));
    EXPECT_EQ(EntrySize(*shard, 0), 12U);
    EXPECT_TRUE(Fails(ReadEntry(*shard, 0), Code::kLocked));
    const auto open = Model({Raw("x", std::string(40, 'x'))},
                            {{"x", {{"encryption", Seal()}}}}, role, WithKey());
    EXPECT_FALSE(EntryLocked(*open, 0));
    EXPECT_TRUE(Fails(ReadEntry(*open, 0), Code::kChecksum));
    EXPECT_TRUE(Fails(ReadEntry(*open, 0), Code::kChecksum)) << "remembered";
  }
}

TEST(Sealed, PayloadsThatAreTooShortHoldNothing) {
  for (const size_t size : {0U, 1U, 27U, 28U}) {
    const auto shard = Model({Raw("x", std::string(size, 'x'))},
                             {{"x", {{"encryption", Seal()}}}}, 1, WithKey());
    EXPECT_EQ(EntrySize(*shard, 0), 0U);
    BlockCache cache(1 << 20);
    const Result<Content> content = OpenEntry(*shard, 0);
    ASSERT_TRUE(Ok(content));
    EXPECT_FALSE(content->Verify(cache)) << size;
  }
}

TEST(Sealed, ClaimedSizesAreLimited) {
  Json seal = Seal();
  seal["inner_codec"] = "zstd";
  for (const uint64_t size : {uint64_t{1} << 31, UINT64_MAX}) {
    seal["inner_size"] = size;
    const auto shard = Model({Raw("x", std::string(40, 'x'))},
                             {{"x", {{"encryption", seal}}}}, 1, WithKey());
    EXPECT_EQ(EntrySize(*shard, 0), 0U);
    EXPECT_TRUE(Fails(OpenEntry(*shard, 0), Code::kLimit));
  }
}

TEST(Sealed, WhatDoesNotParseIsRawAndSaysSo) {
  Json rotten = Json::array({5, "x", Json::array(), nullptr});
  for (const char* key : {"scheme", "kdf", "salt", "inner_codec"}) {
    for (const Json& value : {Json("other"), Json(1), Json()}) {
      rotten.push_back(Seal());
      rotten.back()[key] = value;
    }
  }
  rotten.push_back(Seal());
  rotten.back()["info"] = 5;
  rotten.push_back(Seal());
  rotten.back()["inner_codec"] = "lz4";  // and no inner_size
  rotten.push_back(rotten.back());
  rotten.back()["inner_size"] = -1;
  for (const Json& seal : rotten) {
    const auto shard =
        Model({Raw("x", "raw")}, {{"x", {{"encryption", seal}}}});
    EXPECT_FALSE(EntryLocked(*shard, 0)) << seal;
    EXPECT_EQ(*ReadEntry(*shard, 0), "raw");
    EXPECT_EQ(WarningsAbout(*shard, "entry 0 'x': encryption: "), 1U) << seal;
  }
  for (const Json& said : {Json(5), Json("x"), Json::array({1})}) {
    const auto shard = Model({Raw("x", "raw")}, {{"x", said}});
    EXPECT_EQ(WarningsAbout(*shard, "entry 0 'x': ctxfs: no object"), 1U);
  }
}

TEST(Conventions, AreReadHoweverTheyAreWritten) {
  const std::string seal = Seal().dump();
  const auto sealed = [&](const std::string& metadata) {
    const auto opened = OpenSpec(
        {.entries = {Raw("x", std::string(40, 'x'))}, .metadata = metadata});
    EXPECT_TRUE(Ok(opened));
    return EntryLocked(**opened, 0);
  };
  const auto at = [&](const std::string& encryption) {
    return R"({"entry_metadata": {"x": {"extra": {"ctxfs": {"encryption": )" +
           encryption + "}}}}}";
  };
  EXPECT_TRUE(sealed(at(seal)));
  EXPECT_TRUE(sealed(at(seal) + " \n trailing"));
  EXPECT_TRUE(sealed(
      R"({"entry_metadata": {"x": {"extra": {"\u0063txfs": {"encryption": )" +
      seal + "}}}}}"));
  EXPECT_FALSE(sealed("[" + at(seal) + "]"));
  EXPECT_FALSE(sealed(at("[" + seal + "]")));
  EXPECT_FALSE(sealed(R"({"ctxfs": {"encryption": )" + seal + "}}"));
  EXPECT_FALSE(sealed(at(seal).substr(0, at(seal).size() - 3))) << "no JSON";
  // Of equal keys the last one holds.
  EXPECT_FALSE(sealed(at(seal + R"(, "encryption": null)")));
  EXPECT_TRUE(sealed(at(R"(5, "encryption": )" + seal)));
  const std::string all = at(seal);
  EXPECT_FALSE(sealed(all.substr(0, all.size() - 1) +
                      R"(, "entry_metadata": {"x": {}}})"));
  EXPECT_FALSE(sealed(all.substr(0, all.size() - 2) + R"(, "x": 1}})"));
}

TEST(Conventions, AreNeverMissedForAFaultOfTheStore) {
  Json metadata;
  metadata["entry_metadata"]["x"]["extra"]["ctxfs"]["encryption"] = Seal();
  const auto source = std::make_shared<FaultySource>(
      BuildShard({.entries = {Raw("x", std::string(40, 'x'))},
                  .metadata = metadata.dump()}));
  ASSERT_TRUE(Ok(OpenContainer(source, {})));
  const uint64_t calls = source->calls();
  for (uint64_t n = 0; n < calls; ++n) {
    source->FailAfter(n);
    const auto opened = OpenContainer(source, {});
    if (opened) {
      EXPECT_TRUE(EntryLocked(**opened, 0)) << n;
    } else {
      EXPECT_TRUE(Fails(opened, Code::kIo)) << n;
    }
    source->Heal();
  }
}

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

TEST(EntryFileTable, HasPathsOfEntries) {
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

TEST(GemmShard, NamesOfTilesAreNumbersAndGridsFull) {
  const std::string tile = Tensor(kF32, {1, 1}, Floats(1));
  const auto gemm = [&](std::initializer_list<const char*> names) {
    std::vector<ShardEntry> entries;
    for (const char* name : names) entries.push_back(Raw(name, tile));
    return Paths(Model(std::move(entries), Json::object(), kGemmRole),
                 "views/matrices/");
  };
  EXPECT_EQ(gemm({"A/0,0"}), std::vector<std::string>{"A"});
  EXPECT_EQ(gemm({"A/B/0,0", "A/B/0,1"}), std::vector<std::string>{"A/B"});
  EXPECT_TRUE(gemm({"A/0,1"}).empty());
  EXPECT_TRUE(gemm({"A/0,0", "A/1,1"}).empty());
  for (const char* name :
       {"0,0", "/0,0", "A/0", "A/0,", "A/,0", "A/00,0", "A/0,+0", "A/0, 0",
        "A/-0,0", "A/0,0,0", "A/0x0,0", "A/4294967295,4294967295",
        "A/4294967296,0", "A/99999999999999999999,0"}) {
    EXPECT_TRUE(gemm({name}).empty()) << name;
  }
}

TEST(GemmShard, TilesThatDoNotFitMakeNoMatrix) {
  const auto matrix = [](std::string first, std::string second) {
    const auto gemm =
        Model({Raw("A/0,0", std::move(first)), Raw("A/1,0", std::move(second))},
              Json::object(), kGemmRole);
    const bool there = !Paths(gemm, "views/matrices/").empty();
    EXPECT_EQ(WarningsAbout(*gemm, "A: no matrix"), there ? 0U : 1U);
    return there;
  };
  const std::string tile = Tensor(kF32, {2, 2}, Floats(4));
  EXPECT_TRUE(matrix(tile, tile));
  EXPECT_TRUE(matrix(tile, Tensor(kF32, {1, 2}, Floats(2))));
  EXPECT_FALSE(matrix(Tensor(kF32, {1, 2}, Floats(2)), tile));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {2, 1}, Floats(2))));
  EXPECT_FALSE(matrix(tile, Tensor(kI64, {2, 2}, std::string(32, '\0'))));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {4}, Floats(4))));
  EXPECT_FALSE(matrix(tile, Tensor(kF32, {0, uint64_t{1} << 62}, "")));
  EXPECT_FALSE(matrix(tile, "no tensor at all"));
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

}  // namespace
}  // namespace ctxfs
