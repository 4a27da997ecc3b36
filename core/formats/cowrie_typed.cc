// SPDX-License-Identifier: Apache-2.0
//
// Cowrie's values of a type of their own: tensors, media, graphs.
#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/formats/cowrie_decoder.h"
#include "core/formats/cowrie_text.h"

namespace ctxfs {
namespace {

struct TensorType {
  uint8_t code;
  const char* name;
  uint64_t size;  // bytes of an element; packed types count bytes
};

constexpr TensorType kTensorTypes[] = {
    {0x01, "float32", 4}, {0x02, "float16", 2}, {0x03, "bfloat16", 2},
    {0x04, "int8", 1},    {0x05, "int16", 2},   {0x06, "int32", 4},
    {0x07, "int64", 8},   {0x08, "uint8", 1},   {0x09, "uint16", 2},
    {0x0A, "uint32", 4},  {0x0B, "uint64", 8},  {0x0C, "float64", 8},
    {0x0D, "bool", 1},    {0x10, "qint4", 1},   {0x11, "qint2", 1},
    {0x12, "qint3", 1},   {0x13, "ternary", 1}, {0x14, "binary", 1},
};

/// The name of a number, or the number.
Json NameOf(uint8_t number, std::initializer_list<const char*> names) {
  if (number == 0 || number > names.size()) return number;
  return names.begin()[number - 1];
}

}  // namespace

Json CowrieDecoder::Typed(uint8_t tag) {
  SpendValues(4);
  switch (tag) {
    case 0x20:
      return Tensor();
    case 0x21: {
      const uint8_t store = U8();
      return {{"_type", "tensor_ref"},
              {"store", store},
              {"key", Base64Of(Data())}};
    }
    case 0x22:
      return Image();
    case 0x23:
      return Audio();
    case 0x24: {
      const uint64_t bits = Uvarint();
      const Bytes mask = Take(bits / 8 + (bits % 8 != 0 ? 1 : 0));
      return {{"_type", "bitmask"},
              {"count", UnsignedJson(bits)},
              {"bits", Base64Of(mask)}};
    }
    case 0x30:
      return Adjacency();
    case 0x31:
      return RichText();
    case 0x32:
      return Delta();
    case 0x35:
      return Node(/*typed=*/true);
    case 0x36:
      return Edge(/*typed=*/true);
    case 0x37:
      return {{"_type", "node_batch"}, {"nodes", Nodes(Count(3), true)}};
    case 0x38:
      return {{"_type", "edge_batch"}, {"edges", Edges(Count(4), true)}};
    case 0x39: {
      Json graph = Json::object();
      graph["_type"] = "graph_shard";
      graph["nodes"] = Nodes(Count(3), false);
      graph["edges"] = Edges(Count(4), false);
      graph["metadata"] = Object(Count(2));
      return graph;
    }
    default:
      return Invalid(tag);
  }
}

Json CowrieDecoder::Tensor() {
  const uint8_t code = U8();
  const auto* type =
      std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                   [code](const TensorType& t) { return t.code == code; });
  if (type == std::end(kTensorTypes)) {
    Fail("tensor type " + std::to_string(code) + " is unknown");
    return nullptr;
  }
  const uint8_t rank = U8();
  if (rank > limits::kCowrieRank) {
    Fail("a tensor of rank " + std::to_string(rank), Code::kLimit);
    return nullptr;
  }
  std::vector<uint64_t> shape(rank);
  std::optional<uint64_t> size = type->size;
  for (uint64_t& dim : shape) {
    dim = Uvarint();
    if (size) size = CheckedMul(*size, dim);
  }
  const Bytes data = Data();
  if (ok() && size != data.size()) {
    Fail("a tensor's " + std::to_string(data.size()) +
         " bytes are not what its shape makes");
  }
  SpendValues(rank);
  return {{"_type", "tensor"},
          {"dtype", type->name},
          {"shape", shape},
          {"data", Base64Of(data)}};
}

Json CowrieDecoder::Strings() {
  Json list = Json::array();
  for (uint64_t n = Count(1); n > 0 && ok() && SpendValues(1); --n) {
    list.push_back(Text());
  }
  return list;
}

Json CowrieDecoder::Image() {
  const uint8_t format = U8();
  const uint16_t width = U16();
  const uint16_t height = U16();
  return {{"_type", "image"},
          {"format", NameOf(format, {"jpeg", "png", "webp", "avif", "bmp"})},
          {"width", width},
          {"height", height},
          {"data", Base64Of(Data())}};
}

Json CowrieDecoder::Audio() {
  const uint8_t encoding = U8();
  const uint32_t rate = U32();
  const uint8_t channels = U8();
  return {{"_type", "audio"},
          {"encoding",
           NameOf(encoding, {"pcm_int16", "pcm_float32", "opus", "aac"})},
          {"rate", rate},
          {"channels", channels},
          {"data", Base64Of(Data())}};
}

Json CowrieDecoder::Numbers(uint64_t count) {
  Json list = Json::array();
  for (; count > 0 && SpendValues(1); --count) {
    list.push_back(UnsignedJson(Uvarint()));
  }
  return list;
}

Json CowrieDecoder::Adjacency() {
  const uint8_t width = U8();
  if (width != 1 && width != 2) Fail("an adjacency of unknown width");
  const uint64_t nodes = Uvarint();
  const uint64_t edges = Uvarint();
  const uint64_t id_size = width == 1 ? 4 : 8;
  if (ok() && (nodes >= remaining() ||
               edges > (remaining() - nodes) / id_size)) {
    Fail("an adjacency longer than its bytes");
  }
  if (!ok()) return nullptr;
  Json offsets = Numbers(nodes + 1);
  Json ids = Json::array();
  for (uint64_t i = 0; i < edges && SpendValues(1); ++i) {
    ids.push_back(width == 1 ? Json(static_cast<int32_t>(U32()))
                             : SignedJson(static_cast<int64_t>(U64())));
  }
  return {{"_type", "adjlist"},
          {"id_width", width == 1 ? "int32" : "int64"},
          {"node_count", nodes},
          {"edge_count", edges},
          {"row_offsets", std::move(offsets)},
          {"col_indices", std::move(ids)}};
}

Json CowrieDecoder::RichText() {
  constexpr uint8_t kTokens = 1;
  constexpr uint8_t kSpans = 2;
  Json rich = {{"_type", "rich_text"}, {"text", Text()}};
  const uint8_t flags = U8();
  if ((flags & kTokens) != 0) {
    Json tokens = Json::array();
    for (uint64_t n = Count(4); n > 0 && SpendValues(1); --n) {
      tokens.push_back(static_cast<int32_t>(U32()));
    }
    rich["tokens"] = std::move(tokens);
  }
  if ((flags & kSpans) != 0) {
    Json spans = Json::array();
    for (uint64_t n = Count(3); n > 0 && SpendValues(4); --n) {
      const uint64_t start = Uvarint();
      const uint64_t end = Uvarint();
      spans.push_back({{"start", UnsignedJson(start)},
                       {"end", UnsignedJson(end)},
                       {"kind", UnsignedJson(Uvarint())}});
    }
    rich["spans"] = std::move(spans);
  }
  return rich;
}

Json CowrieDecoder::Delta() {
  const uint64_t base = Uvarint();
  Json steps = Json::array();
  for (uint64_t n = Count(2); n > 0 && SpendValues(3); --n) {
    const uint8_t op = U8();
    Json step = Json::object();
    step["op"] = NameOf(op, {"set", "delete", "append"});
    if (!step["op"].is_string()) Fail("an unknown step in a delta");
    step["field"] = std::string(Name());
    if (op != 2) step["value"] = Value();
    steps.push_back(std::move(step));
  }
  return {{"_type", "delta"},
          {"base", UnsignedJson(base)},
          {"ops", std::move(steps)}};
}

Json CowrieDecoder::Node(bool typed) {
  Json node = Json::object();
  node["id"] = Text();
  if (typed) node["_type"] = "node";
  node["labels"] = Strings();
  node["props"] = Object(Count(2));
  return node;
}

Json CowrieDecoder::Edge(bool typed) {
  Json edge = Json::object();
  edge[typed ? "fromId" : "from"] = Text();
  if (typed) edge["_type"] = "edge";
  edge[typed ? "toId" : "to"] = Text();
  edge["type"] = Text();
  edge["props"] = Object(Count(2));
  return edge;
}

Json CowrieDecoder::Nodes(uint64_t count, bool typed) {
  Json nodes = Json::array();
  for (; count > 0 && SpendValues(4); --count) nodes.push_back(Node(typed));
  return nodes;
}

Json CowrieDecoder::Edges(uint64_t count, bool typed) {
  Json edges = Json::array();
  for (; count > 0 && SpendValues(5); --count) edges.push_back(Edge(typed));
  return edges;
}

}  // namespace ctxfs
