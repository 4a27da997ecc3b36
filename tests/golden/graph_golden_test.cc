// SPDX-License-Identifier: Apache-2.0
//
// The graphs and traces of golden/shard-profiles/synthetic against their JSON,
// by the library alone; the same through a real mount is tests/mount/
// test_golden_graph.py and test_golden_sjgn.py.
#include <cstring>
#include <set>

#include "core/base/limits.h"
#include "core/container/format.h"
#include "core/content/content.h"
#include "core/formats/cowrie/cowrie.h"
#include "core/io/source.h"
#include "tests/golden/golden.h"
#include "tests/unit/testing/files.h"

namespace ctxfs {
namespace {

const std::string kFolder = "shard-profiles/synthetic/";

/// Fails for a key that no test here knows.
void ExpectKeys(const Json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    EXPECT_TRUE(known.contains(key)) << "nobody checks " << key;
  }
}

std::string ReadOwn(const Container& container, const std::string& path) {
  BlockCache cache(limits::kMiB);
  const std::optional<FoundFile> file = FindFile(container, path);
  EXPECT_TRUE(file) << "no " << path;
  if (!file) return {};
  const Result<Content> content = file->Open(cache);
  EXPECT_TRUE(content) << path;
  return content ? *ReadAll(*content, cache) : std::string();
}

/// Element `i` of an array's bytes.
Json Element(DType dtype, const std::string& bytes, size_t i) {
  const auto at = [&](auto value) {
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    return Json(value);
  };
  switch (dtype) {
    case DType::kBool:
      return bytes[i] != 0;
    case DType::kI32:
      return at(int32_t{});
    case DType::kI64:
      return at(int64_t{});
    default:
      EXPECT_EQ(dtype, DType::kF32);
      return at(float{});
  }
}

/// An array as nested lists.
Json ListOf(const Container& container, const std::string& name) {
  BlockCache cache(limits::kMiB);
  for (const ArrayInfo& array : ArraysOf(container)) {
    if (array.name != name) continue;
    const Result<Content> content = array.open(cache);
    EXPECT_TRUE(content) << name;
    const std::string bytes = *ReadAll(*content, cache);
    size_t count = 1;
    for (const uint64_t dimension : array.shape) count *= dimension;
    EXPECT_EQ(bytes.size(), count * DTypeSize(array.dtype)) << name;
    Json flat = Json::array();
    for (size_t i = 0; i < count; ++i) {
      flat.push_back(Element(array.dtype, bytes, i));
    }
    if (array.shape.size() < 2) return flat;
    Json rows = Json::array();
    const size_t columns = array.shape[1];
    for (size_t i = 0; i < array.shape[0]; ++i) {
      rows.push_back(Json(std::vector<Json>(
          flat.begin() + static_cast<ptrdiff_t>(i * columns),
          flat.begin() + static_cast<ptrdiff_t>((i + 1) * columns))));
    }
    return rows;
  }
  ADD_FAILURE() << "no array " << name;
  return nullptr;
}

/// What is said of the file itself.
Json AnswerOf(const std::string& name) {
  const Json answer = golden::AnswerOf(kFolder + name);
  ExpectKeys(answer,
             {"file", "sha256", "size", "format", "expected", "note",
              "first_bytes", "decoded_size", "decodes_to", "decoded_sha256"});
  const std::string bytes = golden::ReadFile(golden::PathOf(kFolder + name));
  EXPECT_EQ(answer["file"], name);
  EXPECT_EQ(answer["size"], bytes.size());
  EXPECT_EQ(answer["sha256"], golden::Sha256(bytes));
  return answer;
}

TEST(GraphGolden, Generation1) {
  const Json expected = AnswerOf("graphshard_gen1.cowrie")["expected"];
  ExpectKeys(expected, {"name", "edge_index", "node_features", "node_labels"});
  const auto graph = golden::Open(kFolder + "graphshard_gen1.cowrie");
  EXPECT_EQ(Json::parse(ReadOwn(*graph, "value.json")), expected);
  EXPECT_EQ(ArraysOf(*graph).size(), 3U);
  for (const char* name : {"edge_index", "node_features", "node_labels"}) {
    EXPECT_EQ(ListOf(*graph, name), expected[name]) << name;
  }
}

TEST(GraphGolden, Generation2) {
  Json expected = AnswerOf("graphshard_gen2.cowrie")["expected"];
  ExpectKeys(expected, {"nodes", "edges", "metadata"});
  const auto graph = golden::Open(kFolder + "graphshard_gen2.cowrie");
  Json ends = {Json::array(), Json::array()};
  for (const Json& edge : expected["edges"]) {
    ends[0].push_back(std::stoll(edge["from"].get<std::string>()));
    ends[1].push_back(std::stoll(edge["to"].get<std::string>()));
  }
  EXPECT_EQ(ListOf(*graph, "edge_index"), ends);
  expected["_type"] = "graph_shard";
  EXPECT_EQ(Json::parse(ReadOwn(*graph, "value.json")), expected);
}

class SjgnGolden : public testing::TestWithParam<const char*> {};

TEST_P(SjgnGolden, EveryKey) {
  Json answer = AnswerOf(GetParam());
  const auto graph = golden::Open(kFolder + GetParam());
  if (answer.contains("decodes_to")) answer = AnswerOf(answer["decodes_to"]);
  const Json& expected = answer["expected"];
  ExpectKeys(expected,
             {"csr_indices", "csr_indptr", "dst", "flags", "num_nodes",
              "sections", "src", "test", "train", "val", "x", "x_shape", "y"});
  const Json info = graph->Info(LoneContext());
  EXPECT_EQ("SJGN " + info["version"].get<std::string>(), answer["format"]);
  EXPECT_EQ(info["flags"], expected["flags"]);
  EXPECT_TRUE(info["warnings"].empty()) << info["warnings"];
  ASSERT_EQ(EntryCount(*graph), 1 + expected["sections"].size());
  EXPECT_EQ(DescribeEntry(*graph, 0).kind, "meta");
  for (uint32_t i = 1; i < EntryCount(*graph); ++i) {
    const EntryInfo shown = DescribeEntry(*graph, i);
    EXPECT_EQ((Json{{"name", *shown.name},
                    {"kind", shown.kind},
                    {"encoding", shown.extra["encoding"]},
                    {"body_len", shown.size}}),
              expected["sections"][i - 1]);
  }
  EXPECT_EQ(ListOf(*graph, "csr:cites/indptr"), expected["csr_indptr"]);
  EXPECT_EQ(ListOf(*graph, "csr:cites/indices"), expected["csr_indices"]);
  EXPECT_EQ(ListOf(*graph, "edges:cites/src"), expected["src"]);
  EXPECT_EQ(ListOf(*graph, "edges:cites/dst"), expected["dst"]);
  const size_t nodes = expected["num_nodes"];
  EXPECT_EQ(ListOf(*graph, "nodes:paper/id").size(), nodes);
  for (const char* part : {"train", "val", "test"}) {
    EXPECT_EQ(ListOf(*graph, std::string("split:paper/") + part),
              expected[part]);
    const Json mask = ListOf(*graph, std::string("split:mask/") + part);
    ASSERT_EQ(mask.size(), nodes);
    Json set = Json::array();
    for (size_t i = 0; i < nodes; ++i) {
      if (mask[i]) set.push_back(i);
    }
    EXPECT_EQ(set, expected[part]);
  }
  Json labels = Json::array();
  for (const Json& row : ListOf(*graph, "labels:paper:y")) {
    labels.push_back(row[0]);
  }
  EXPECT_EQ(labels, expected["y"]);
  ASSERT_EQ(expected["x"], "i/2 row-major, i=0..14");
  const Json x = ListOf(*graph, "features:paper:x");
  EXPECT_EQ((Json{x.size(), x[0].size()}), expected["x_shape"]);
  for (size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(x[i / 3][i % 3], static_cast<double>(i) / 2);
  }
  const Json meta = Json::parse(ReadOwn(*graph, "meta.json"));
  EXPECT_EQ(meta["dataset_name"], "toy-cora");
}

INSTANTIATE_TEST_SUITE_P(Golden, SjgnGolden,
                         testing::Values("cowrie_gnn_v10.sjgn",
                                         "cowrie_gnn_v11.sjgn",
                                         "cowrie_gnn_v10.sjgz"));

TEST(GraphGolden, ValuesInAGraphShard) {
  const Json answer = golden::AnswerOf(kFolder + "guess.gshard");
  const Json& expected = answer["expected"];
  ExpectKeys(expected, {"indptr", "indices", "x_sha256", "train_mask", "graph",
                        "csr", "split/train"});
  const auto shard = golden::Open(kFolder + "guess.gshard");
  EXPECT_EQ(ListOf(*shard, "csr/indptr"), expected["indptr"]);
  EXPECT_EQ(ListOf(*shard, "csr/indices"), expected["indices"]);
  BlockCache cache(limits::kMiB);
  size_t graphs = 0;
  for (const ChildContainer& sub : shard->Children()) {
    const auto source = sub.open_source(cache);
    ASSERT_TRUE(source) << sub.path;
    const auto value = OpenContainer(*source, {});
    ASSERT_TRUE(value) << sub.path;
    const std::string name = sub.path.substr(std::string("graphs/").size());
    EXPECT_EQ(Json::parse(ReadOwn(**value, "value.json")), expected[name]);
    ++graphs;
    if (name == "split/train") {
      EXPECT_EQ(ListOf(**value, "mask"), expected["train_mask"]);
    } else if (name == "csr") {
      EXPECT_EQ(ListOf(**value, "indptr"), expected["csr"]["row_offsets"]);
      EXPECT_EQ(ListOf(**value, "indices"), expected["indices"]);
    }
  }
  EXPECT_EQ(graphs, 3U);
  for (const ArrayInfo& array : ArraysOf(*shard)) {
    if (array.name != "x") continue;
    EXPECT_EQ(golden::Sha256(*ReadAll(*array.open(cache), cache)),
              expected["x_sha256"]);
  }
}

TEST(GraphGolden, EventsOfATrace) {
  const Json expected = golden::AnswerOf(kFolder + "guess.tshard")["expected"];
  ExpectKeys(expected, {"events"});
  std::istringstream lines(
      ReadOwn(*golden::Open(kFolder + "guess.tshard"), "views/events.jsonl"));
  Json events = Json::array();
  for (std::string line; std::getline(lines, line);) {
    events.push_back(Json::parse(line));
  }
  EXPECT_EQ(events, expected["events"]);
}

// Every cut and every changed byte of a golden value is decoded or refused, and
// what is found in it can be read.
TEST(GraphGolden, DamagedValuesAreReadOrRefused) {
  for (const char* name :
       {"graphshard_gen1.cowrie", "graphshard_gen2.cowrie"}) {
    const std::string whole = golden::ReadFile(golden::PathOf(kFolder + name));
    for (size_t at = 0; at < whole.size(); ++at) {
      EXPECT_FALSE(cowrie::DecodeCowrie(AsBytes(whole.substr(0, at))))
          << name << at;
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ flip);
        const auto container =
            OpenContainer(std::make_shared<const MemorySource>(damaged), {});
        if (!container) continue;
        BlockCache cache(limits::kMiB);
        for (const ArrayInfo& array : ArraysOf(**container)) {
          const Result<Content> content = array.open(cache);
          ASSERT_TRUE(content);
          EXPECT_TRUE(ReadAll(*content, cache)) << name << " " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ctxfs
