// SPDX-License-Identifier: Apache-2.0
//
// Decodes graphs of cowrie's generation 1 in the form of its SPEC.md, which
// Python, C, Rust and TypeScript write (docs/formats/cowrie.md, section 5).
//
//   node     0x35, zigzag id, label, properties
//   edge     0x36, zigzag source, zigzag target, label, properties
//   graph    0x39, nodes, edges, metadata: a count and as many of each
#include <string>
#include <utility>

#include "core/formats/cowrie/gen1.h"

namespace ctxfs::cowrie {
namespace {

constexpr uint8_t kNodeTag = 0x35;
constexpr uint8_t kEdgeTag = 0x36;
// Sizes of the shortest node and edge, bytes.
constexpr uint64_t kLeastNode = 4;
constexpr uint64_t kLeastEdge = 5;

}  // namespace

Json CowrieGen1::SpecGraph(uint8_t tag) {
  switch (tag) {
    case 0x30:
      return SpecAdjacency();
    case kNodeTag:
      return SpecNode();
    case kEdgeTag:
      return SpecEdge(nullptr);
    case 0x37:
      return {{"nodes", SpecNodes(Count(kLeastNode))}};
    case 0x38:
      return {{"edges", SpecEdges(Count(kLeastEdge))}};
    default: {
      Json graph = Json::object();
      graph["nodes"] = SpecNodes(Count(kLeastNode));
      graph["edges"] = SpecEdges(Count(kLeastEdge));
      const CowrieArrays::Below below(arrays_, "meta");
      graph["meta"] = Object();
      return graph;
    }
  }
}

void CowrieGen1::ExpectTag(uint8_t expected) {
  if (U8() != expected) Fail("a list of nodes or edges has something else");
}

Json CowrieGen1::SpecNode() {
  Json node = Json::object();
  node["id"] = SignedJson(Zigzag());
  node["label"] = Text();
  node["properties"] = Object();
  return node;
}

Json CowrieGen1::SpecEdge(EdgeIds* ids) {
  const int64_t from = Zigzag();
  const int64_t to = Zigzag();
  if (ids != nullptr) ids->Add(from, to);
  Json edge = Json::object();
  edge["src"] = SignedJson(from);
  edge["dst"] = SignedJson(to);
  edge["label"] = Text();
  edge["properties"] = Object();
  return edge;
}

Json CowrieGen1::SpecNodes(uint64_t count) {
  const CowrieArrays::Below below(arrays_);
  return List(count, 4, [this] {
    ExpectTag(kNodeTag);
    return SpecNode();
  });
}

Json CowrieGen1::SpecEdges(uint64_t count) {
  EdgeIds ids;
  Json edges = List(count, 5, [&] {
    const CowrieArrays::Below below(arrays_);
    ExpectTag(kEdgeTag);
    return SpecEdge(&ids);
  });
  if (ok()) arrays_.AddEdges(ids);
  return edges;
}

Json CowrieGen1::SpecAdjacency() {
  std::optional<StoredAdjacency> stored =
      CowrieReader::Adjacency(arrays_, numbers_);
  if (!stored) return nullptr;
  return {{"id_width", stored->width},
          {"node_count", stored->nodes},
          {"edge_count", stored->edges},
          {"row_offsets", std::move(stored->row_offsets)},
          {"col_indices", numbers_ ? Base64Of(stored->ids) : ""}};
}

}  // namespace ctxfs::cowrie
