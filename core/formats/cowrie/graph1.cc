// SPDX-License-Identifier: Apache-2.0
//
// Decodes graphs of cowrie's generation 1 in Go's form, and their parts
// (docs/formats/cowrie.md, section 5). The graph itself:
//
//   u8, u8   which parts follow: a bit for each, in their order
//   parts    name, metadata, nodes, edges, edge index, adjacency, features of
//            nodes and of edges; labels of nodes and of edges
#include <fmt/core.h>

#include <string>
#include <utility>

#include "core/formats/cowrie/gen1.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/text.h"

namespace ctxfs::cowrie {

Json CowrieGen1::GoGraph(uint8_t tag) {
  switch (tag) {
    case 0x30:
      return AdjacencyList();
    case 0x35:
      return Node();
    case 0x36:
      return Edge();
    case 0x37:
      return {{"nodes", Nodes()}};
    case 0x38:
      return EdgeBatch();
    default:
      return Graph();
  }
}

Json CowrieGen1::Graph() {
  const auto parts = static_cast<unsigned>(U8());
  const auto more = static_cast<unsigned>(U8());
  if (more > 3) Fail("a graph with unknown parts");
  const auto has = [this](unsigned flags, unsigned bit) {
    return ok() && (flags >> bit & 1U) != 0;
  };
  Json graph = Json::object();
  if (has(parts, 0)) graph["name"] = Text();
  if (has(parts, 1)) {
    const CowrieArrays::Below below(arrays_, "metadata");
    graph["metadata"] = TaggedObject();
  }
  if (has(parts, 2)) graph["nodes"] = Nodes();
  if (has(parts, 3)) graph["edges"] = Edges();
  if (has(parts, 4)) graph["edge_index"] = EdgeIndex(Count(2));
  if (has(parts, 5)) graph["adjacency"] = Adjacency();
  if (has(parts, 6)) graph["node_features"] = Features("node_features");
  if (has(parts, 7)) graph["edge_features"] = Features("edge_features");
  if (has(more, 0)) graph["node_labels"] = Labels("node_labels");
  if (has(more, 1)) graph["edge_labels"] = Labels("edge_labels");
  return graph;
}

Json CowrieGen1::Node() {
  Json node = Json::object();
  node["id"] = Text();
  node["labels"] = Strings();
  node["props"] = TaggedObject();
  return node;
}

Json CowrieGen1::Edge() {
  Json edge = Json::object();
  // Most edges have no id of their own.
  if (std::string id = Text(); !id.empty()) edge["id"] = std::move(id);
  edge["type"] = Text();
  edge["from"] = Text();
  edge["to"] = Text();
  edge["props"] = TaggedObject();
  return edge;
}

Json CowrieGen1::Nodes() {
  const CowrieArrays::Below below(arrays_);
  return List(Count(4), 4, [this] { return Node(); });
}

Json CowrieGen1::Edges() {
  const CowrieArrays::Below below(arrays_);
  return List(Count(6), 6, [this] { return Edge(); });
}

Json CowrieGen1::Signed(uint64_t count) {
  Json list = Json::array();
  for (; count > 0 && ok(); --count) {
    const int64_t number = Zigzag();
    if (!numbers_ || !ChargeValues(1)) continue;
    if (Admitted(AdmitGrowth(list.get_ref<Json::array_t&>()))) {
      list.push_back(SignedJson(number));
    }
  }
  return list;
}

void CowrieGen1::AddSigned(const char* name, std::vector<uint64_t> shape,
                           uint64_t at) {
  arrays_.Add({.name = name,
               .shape = std::move(shape),
               .coding = CowrieCoding::kZigzag,
               .offset = at,
               .length = offset() - at});
}

Json CowrieGen1::EdgeIndex(uint64_t edges) {
  const uint64_t at = offset();
  Json sources = Signed(edges);
  Json targets = Signed(edges);
  if (!ok()) return nullptr;
  if (edges > 0) AddSigned("edge_index", {2, edges}, at);
  return Json::array({std::move(sources), std::move(targets)});
}

Json CowrieGen1::AdjacencyList() {
  const int64_t id = Zigzag();
  const uint64_t count = Count(1);
  const uint64_t at = offset();
  Json neighbors = Signed(count);
  if (!ok()) return nullptr;
  AddSigned("neighbors", {count}, at);
  return {{"id", SignedJson(id)}, {"neighbors", std::move(neighbors)}};
}

Json CowrieGen1::Adjacency() {
  const uint64_t lists = Count(2);
  const uint64_t at = offset();
  uint64_t neighbors = 0;
  Json adjacency = Json::array();
  for (uint64_t i = 0; i < lists && ok(); ++i) {
    const int64_t id = Zigzag();
    const uint64_t count = Count(1);
    Json list = Signed(count);
    neighbors += count;
    if (!numbers_ || !ChargeValues(3)) continue;
    adjacency.push_back(
        {{"id", SignedJson(id)}, {"neighbors", std::move(list)}});
  }
  if (!ok()) return nullptr;
  const uint64_t length = offset() - at;
  const auto add = [&](const char* name, uint64_t count, uint64_t first) {
    arrays_.Add({.name = std::string("adjacency/") + name,
                 .shape = {count},
                 .coding = CowrieCoding::kAdjacency,
                 .offset = at,
                 .length = length,
                 .first = first});
  };
  add("ids", lists, 0);
  add("indptr", lists + 1, lists);
  add("indices", neighbors, 2 * lists + 1);
  return adjacency;
}

Json CowrieGen1::Features(const char* name) {
  const uint64_t rows = Uvarint();
  const uint64_t columns = Uvarint();
  const std::optional<uint64_t> elements = CheckedMul(rows, columns);
  if (ok() && (!elements || *elements > remaining() / sizeof(float))) {
    Fail("features have more rows and columns than there are bytes");
  }
  // Empty rows take no bytes, so the stored bytes do not limit their number.
  if (ok() && columns == 0 && rows > kMaxValues) {
    Fail(fmt::format("features of {} empty rows are over the limit", rows),
         Code::kLimit);
  }
  if (!ok()) return nullptr;
  arrays_.Add({.name = name,
               .dtype = DType::kF32,
               .shape = {rows, columns},
               .offset = offset(),
               .length = *elements * sizeof(float)});
  if (!numbers_) return Elements(DType::kF32, *elements);
  return List(rows, 1, [&] { return Elements(DType::kF32, columns); });
}

Json CowrieGen1::Labels(const char* name) {
  const uint64_t count = Count(1);
  const uint64_t at = offset();
  Json labels = Signed(count);
  if (!ok()) return nullptr;
  AddSigned(name, {count}, at);
  return labels;
}

Json CowrieGen1::EdgeBatch() {
  const uint64_t edges = Count(2);
  const bool types = U8() == 1;
  const bool props = U8() == 1;
  Json ends = EdgeIndex(edges);
  if (!ok()) return nullptr;
  Json batch = Json::object();
  batch["sources"] = std::move(ends[0]);
  batch["targets"] = std::move(ends[1]);
  const CowrieArrays::Below below(arrays_);
  if (types) batch["types"] = List(edges, 1, [this] { return Text(); });
  if (props) batch["props"] = List(edges, 1, [this] { return TaggedObject(); });
  return batch;
}

}  // namespace ctxfs::cowrie
