// SPDX-License-Identifier: Apache-2.0
//
// Decodes the cowrie values that become objects with a "_type": tensors, media,
// graphs.
#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/formats/cowrie/decoder.h"
#include "core/formats/cowrie/limits.h"
#include "core/formats/cowrie/text.h"

namespace ctxfs::cowrie {
namespace {

struct TensorType {
  uint8_t code;
  const char* name;
  DType dtype;  // kU8 for packed types: they are shown as stored bytes
};

constexpr TensorType kTensorTypes[] = {
    {0x01, "float32", DType::kF32},   {0x02, "float16", DType::kF16},
    {0x03, "bfloat16", DType::kBf16}, {0x04, "int8", DType::kI8},
    {0x05, "int16", DType::kI16},     {0x06, "int32", DType::kI32},
    {0x07, "int64", DType::kI64},     {0x08, "uint8", DType::kU8},
    {0x09, "uint16", DType::kU16},    {0x0A, "uint32", DType::kU32},
    {0x0B, "uint64", DType::kU64},    {0x0C, "float64", DType::kF64},
    {0x0D, "bool", DType::kBool},     {0x10, "qint4", DType::kU8},
    {0x11, "qint2", DType::kU8},      {0x12, "qint3", DType::kU8},
    {0x13, "ternary", DType::kU8},    {0x14, "binary", DType::kU8},
};

/// Returns the name for `number`, where 1 is the first name; returns the number
/// if it has no name.
Json NameOf(uint8_t number, std::initializer_list<const char*> names) {
  if (number == 0 || number > names.size()) return number;
  return names.begin()[number - 1];
}

}  // namespace

Json CowrieDecoder::Typed(uint8_t tag) {
  ChargeValues(4);
  switch (tag) {
    case 0x20:
      return Tensor();
    case 0x21: {
      const uint8_t store = U8();
      return {{"_type", "tensor_ref"},
              {"store_id", store},
              {"key", Base64Of(Data())}};
    }
    case 0x22:
      return Image();
    case 0x23:
      return Audio();
    case 0x24:
      return Bitmask();
    case 0x30:
      return AdjacencyList();
    case 0x31:
      return RichText();
    case 0x32:
      return Delta();
    case 0x35:
      return Node(/*typed=*/true);
    case 0x36:
      return Edge(/*typed=*/true);
    case 0x37:
      return {{"_type", "node_batch"}, {"nodes", Nodes(Count(3))}};
    case 0x38:
      return {{"_type", "edge_batch"}, {"edges", Edges(Count(4))}};
    case 0x39: {
      Json graph = Json::object();
      graph["_type"] = "graph_shard";
      graph["nodes"] = Nodes(Count(3));
      graph["edges"] = Edges(Count(4));
      const CowrieArrays::Below below(arrays_, "metadata");
      graph["metadata"] = Object(Count(2));
      return graph;
    }
    default:
      return Unknown(tag);
  }
}

Json CowrieDecoder::Tensor() {
  const uint8_t code = U8();
  const auto* type =
      std::find_if(std::begin(kTensorTypes), std::end(kTensorTypes),
                   [code](const TensorType& t) { return t.code == code; });
  if (type == std::end(kTensorTypes)) {
    Fail(fmt::format("tensor type {} is unknown", code));
    return nullptr;
  }
  const uint8_t rank = U8();
  if (rank > kMaxRank) {
    Fail(fmt::format("a tensor of rank {} is over the limit of {}", rank,
                     kMaxRank),
         Code::kLimit);
    return nullptr;
  }
  std::vector<uint64_t> shape(rank);
  std::optional<uint64_t> size = DTypeSize(type->dtype);
  for (uint64_t& dim : shape) {
    dim = Uvarint();
    if (size) size = CheckedMul(*size, dim);
  }
  const Bytes data = Data();
  if (ok() && size != data.size()) {
    Fail(fmt::format("a tensor's {} bytes do not fit its type and shape",
                     data.size()));
  }
  if (!ok()) return nullptr;
  arrays_.Add({.name = "tensor",
               .dtype = type->dtype,
               .shape = shape,
               .offset = offset() - data.size(),
               .length = data.size()},
              /*alone=*/true);
  ChargeValues(rank);
  return {{"_type", "tensor"},
          {"dtype", type->name},
          {"shape", shape},
          {"data", Base64Of(data)}};
}

Json CowrieDecoder::Bitmask() {
  const uint64_t count = Uvarint();
  const Bytes mask = Take(count / 8 + (count % 8 != 0 ? 1 : 0));
  if (!ok() || !ChargeValues(count)) return nullptr;
  arrays_.Add({.name = "mask",
               .dtype = DType::kBool,
               .shape = {count},
               .coding = CowrieCoding::kBits,
               .offset = offset() - mask.size(),
               .length = mask.size()},
              /*alone=*/true);
  if (!Admitted(HeapAllowance::Admit(count * sizeof(Json)))) return nullptr;
  Json bits = Json::array();
  bits.get_ref<Json::array_t&>().reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count && Worked(1); ++i) {
    const auto byte =
        std::to_integer<unsigned>(mask[static_cast<size_t>(i / 8)]);
    bits.push_back((byte >> (i % 8) & 1U) != 0);
  }
  return {{"_type", "bitmask"}, {"count", count}, {"bits", std::move(bits)}};
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
          {"sample_rate", rate},
          {"channels", channels},
          {"data", Base64Of(Data())}};
}

Json CowrieDecoder::AdjacencyList() {
  std::optional<StoredAdjacency> stored = Adjacency(arrays_, /*numbers=*/true);
  if (!stored) return nullptr;
  return {{"_type", "adjlist"},
          {"id_width", stored->width == 1 ? "int32" : "int64"},
          {"node_count", stored->nodes},
          {"edge_count", stored->edges},
          {"row_offsets", std::move(stored->row_offsets)},
          {"col_indices", Base64Of(stored->ids)}};
}

Json CowrieDecoder::RichText() {
  constexpr uint8_t kTokens = 1;
  constexpr uint8_t kSpans = 2;
  Json rich = {{"_type", "richtext"}, {"text", Text()}};
  const uint8_t flags = U8();
  if ((flags & kTokens) != 0) {
    rich["tokens"] =
        List(Count(4), 1, [this] { return static_cast<int32_t>(U32()); });
  }
  if ((flags & kSpans) != 0) {
    rich["spans"] = List(Count(3), 4, [this] {
      const uint64_t start = Uvarint();
      const uint64_t end = Uvarint();
      return Json{{"start", UnsignedJson(start)},
                  {"end", UnsignedJson(end)},
                  {"kind_id", UnsignedJson(Uvarint())}};
    });
  }
  return rich;
}

Json CowrieDecoder::Delta() {
  const uint64_t base = Uvarint();
  const CowrieArrays::Below below(arrays_);
  Json steps = List(Count(2), 3, [this] {
    const uint8_t op = U8();
    Json step = Json::object();
    step["op_code"] = NameOf(op, {"set_field", "delete_field", "append_array"});
    if (!step["op_code"].is_string()) Fail("a delta has an unknown step");
    step["field_id"] = UnsignedJson(Uvarint());
    if (op != 2) step["value"] = Value();
    return step;
  });
  return {{"_type", "delta"},
          {"base_id", UnsignedJson(base)},
          {"ops", std::move(steps)}};
}

Json CowrieDecoder::Node(bool typed) {
  Json node = Json::object();
  if (typed) node["_type"] = "node";
  node["id"] = Text();
  node["labels"] = Strings();
  node["props"] = Object(Count(2));
  return node;
}

Json CowrieDecoder::Edge(bool typed) {
  Json edge = Json::object();
  if (typed) edge["_type"] = "edge";
  edge["from"] = Text();
  edge["to"] = Text();
  edge["type"] = Text();
  edge["props"] = Object(Count(2));
  return edge;
}

Json CowrieDecoder::Nodes(uint64_t count) {
  const CowrieArrays::Below below(arrays_);
  return List(count, 4, [this] { return Node(/*typed=*/false); });
}

Json CowrieDecoder::Edges(uint64_t count) {
  EdgeIds ids;
  Json edges = List(count, 5, [&] {
    const CowrieArrays::Below below(arrays_);
    Json edge = Edge(/*typed=*/false);
    ids.Add(edge["from"].get_ref<const std::string&>(),
            edge["to"].get_ref<const std::string&>());
    return edge;
  });
  if (ok()) arrays_.AddEdges(ids);
  return edges;
}

}  // namespace ctxfs::cowrie
