// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/model_json.h"

#include <fmt/core.h>

#include <utility>

#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/types.h"

namespace ctxfs::onnx {
namespace {

// What a value of JSON takes besides its text: memory and punctuation.
constexpr uint64_t kValueBytes = 64;

/// Writes integers that no double has as strings, because many readers of JSON
/// would round them.
Json Number(int64_t value) {
  constexpr int64_t kExact = (int64_t{1} << 53) - 1;
  if (value >= -kExact && value <= kExact) return value;
  return std::to_string(value);
}

/// `text` up to `most` bytes, cut between two characters of UTF-8.
void CutText(std::string& text, size_t most) {
  if (text.size() <= most) return;
  while (most > 0 &&
         (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  text.resize(most);
}

}  // namespace

bool ModelJson::Afford(uint64_t bytes) {
  if (too_large()) return false;
  spent_ += std::min(bytes, kMostJson) + kValueBytes;
  return !too_large();
}

Result<std::string> ModelJson::TextOf(WireRange range, uint64_t most) {
  if (!Afford(std::min(range.size(), most))) return std::string();
  return reader_.Text(range, most);
}

Status ModelJson::PutText(WireRange range, Json& into) {
  Result<std::string> text = TextOf(range);
  if (!text) return std::move(text).error();
  into = std::move(*text);
  return {};
}

Status ModelJson::AddModelField(const WireField& field) {
  if (field.IsVarint(1)) {
    ir_version_ = static_cast<int64_t>(field.value);
    model_["ir_version"] = Number(ir_version_);
  }
  if (field.IsVarint(5)) {
    model_["model_version"] = Number(static_cast<int64_t>(field.value));
  }
  if (field.IsBytes(2)) {
    if (Status put = PutText(field.bytes, model_["producer_name"]); !put) {
      return put;
    }
    producer_ = model_["producer_name"];
  }
  if (field.IsBytes(3)) return PutText(field.bytes, model_["producer_version"]);
  if (field.IsBytes(4)) return PutText(field.bytes, model_["domain"]);
  if (field.IsBytes(6)) {
    // One byte more than is kept, so that CutText sees a character that is cut.
    Result<std::string> text = TextOf(field.bytes, kMostDocString + 1);
    if (!text) return std::move(text).error();
    CutText(*text, kMostDocString);
    model_["doc_string"] = std::move(*text);
  }
  if (field.IsBytes(8)) return AddOpset(field.bytes);
  if (field.IsBytes(14)) return AddProperty(field.bytes);
  return {};
}

Status ModelJson::AddOpset(WireRange message) {
  Json opset = {{"domain", ""}, {"version", 0}};
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsVarint(2)) {
      opset["version"] = Number(static_cast<int64_t>(field.value));
    }
    if (field.IsBytes(1)) return PutText(field.bytes, opset["domain"]);
    return {};
  });
  if (read && Afford(kValueBytes)) {
    model_["opset_import"].push_back(std::move(opset));
  }
  return read;
}

Status ModelJson::AddProperty(WireRange message) {
  const auto entry = reader_.ReadEntry(message);
  if (!entry) return entry.error();
  const Result<std::string> name = TextOf(entry->first);
  if (!name) return name.error();
  Result<std::string> text = TextOf(entry->second);
  if (!text) return std::move(text).error();
  if (!too_large()) model_["metadata_props"][*name] = std::move(*text);
  return {};
}

Status ModelJson::AddGraphField(const WireField& field) {
  if (field.IsBytes(2)) return PutText(field.bytes, graph_["name"]);
  if (field.IsBytes(11)) return AddValueInfo(field.bytes, graph_["inputs"]);
  if (field.IsBytes(12)) return AddValueInfo(field.bytes, graph_["outputs"]);
  return {};
}

Status ModelJson::AddValueInfo(WireRange message, Json& list) {
  WireRange name;
  WireRanges type;
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsBytes(1)) name = field.bytes;
    if (field.IsBytes(2)) type.push_back(field.bytes);
    return {};
  });
  if (!read) return read;
  Result<Json> value = TypeOf(type, /*level=*/3);
  if (!value) return std::move(value).error();
  if (Status put = PutText(name, (*value)["name"]); !put) return put;
  if (!too_large()) list.push_back(std::move(*value));
  return {};
}

Result<Json> ModelJson::TypeOf(const WireRanges& type, unsigned level) {
  if (level > kMostLevels) {
    return Error{
        Code::kLimit,
        fmt::format("nesting: types are nested more than {} messages deep",
                    kMostLevels),
        type.empty() ? kNoOffset : type.front().begin};
  }
  // One of several fields: setting one clears the others.
  uint64_t kind = 0;
  WireRanges inner;
  Status read = reader_.ForEach(type, [&](const WireField& field) -> Status {
    const bool known = field.number == 1 || field.number == 4 ||
                       field.number == 5 || field.number == 7 ||
                       field.number == 8 || field.number == 9;
    if (!known || field.type != WireType::kBytes) return {};
    if (std::exchange(kind, field.number) != field.number) inner.clear();
    inner.push_back(field.bytes);
    return {};
  });
  if (!read) return std::move(read).error();
  if (!Afford(kValueBytes)) return Json::object();
  if (kind == 0) return Json{{"dtype", nullptr}, {"shape", nullptr}};
  if (kind == 7) return Json{{"opaque", true}};
  if (kind == 1 || kind == 8) {
    Result<Json> tensor = TensorTypeOf(inner);
    if (!tensor || kind == 1) return tensor;
    return Json{{"sparse", std::move(*tensor)}};
  }
  // A sequence and an optional have their type in field 1, a map in 2.
  const uint64_t wanted = kind == 5 ? 2 : 1;
  int64_t key = 0;
  WireRanges element;
  read = reader_.ForEach(inner, [&](const WireField& field) -> Status {
    if (field.IsBytes(wanted)) element.push_back(field.bytes);
    if (field.IsVarint(1)) key = static_cast<int32_t>(field.value);
    return {};
  });
  if (!read) return std::move(read).error();
  Result<Json> value = TypeOf(element, level + 2);
  if (!value) return value;
  if (kind == 4) return Json{{"sequence", std::move(*value)}};
  if (kind == 9) return Json{{"optional", std::move(*value)}};
  return Json{
      {"map", {{"key", DTypeNameOf(key)}, {"value", std::move(*value)}}}};
}

Result<Json> ModelJson::TensorTypeOf(const WireRanges& type) {
  int64_t code = 0;
  WireRanges shape;
  Status read = reader_.ForEach(type, [&](const WireField& field) -> Status {
    if (field.IsVarint(1)) code = static_cast<int32_t>(field.value);
    if (field.IsBytes(2)) shape.push_back(field.bytes);
    return {};
  });
  if (!read) return std::move(read).error();
  Json tensor = {{"dtype", DTypeNameOf(code)}, {"shape", nullptr}};
  if (shape.empty()) return tensor;
  Result<Json> dims = ShapeOf(shape);
  if (!dims) return dims;
  tensor["shape"] = std::move(*dims);
  return tensor;
}

Result<Json> ModelJson::ShapeOf(const WireRanges& shape) {
  Json dims = Json::array();
  Status read = reader_.ForEach(shape, [&](const WireField& field) -> Status {
    if (!field.IsBytes(1)) return {};
    Result<Json> dimension = DimensionOf(field.bytes);
    if (!dimension) return std::move(dimension).error();
    if (Afford(0)) dims.push_back(std::move(*dimension));
    return {};
  });
  if (!read) return std::move(read).error();
  return dims;
}

Result<Json> ModelJson::DimensionOf(WireRange dimension) {
  // A number or a name, whichever is set last.
  Json value = nullptr;
  Status read =
      reader_.ForEach(dimension, [&](const WireField& field) -> Status {
        if (field.IsVarint(1)) {
          value = Number(static_cast<int64_t>(field.value));
        }
        return field.IsBytes(2) ? PutText(field.bytes, value) : Status();
      });
  if (!read) return std::move(read).error();
  return value;
}

void ModelJson::AddSparse(const std::string& name,
                          const std::vector<int64_t>& dims, int64_t data_type,
                          uint64_t count) {
  if (!Afford(name.size() + dims.size() * kValueBytes)) return;
  Json shape = Json::array();
  for (const int64_t dim : dims) shape.push_back(Number(dim));
  sparse_.push_back({{"name", name},
                     {"shape", std::move(shape)},
                     {"dtype", DTypeNameOf(data_type)},
                     {"nnz", Number(static_cast<int64_t>(count))}});
}

Status ModelJson::AddName(WireRange range, Json& list) {
  Result<std::string> name = TextOf(range);
  if (!name) return std::move(name).error();
  if (!too_large()) list.push_back(std::move(*name));
  return {};
}

Json ModelJson::Operators(const GraphCounts& counts) {
  Json operators = Json::object();
  for (const auto& [name, count] : counts.operators) {
    if (!Afford(name.size())) break;
    operators[name] = count;
  }
  return operators;
}

Status ModelJson::AddFunction(WireRange function, const GraphCounts& counts) {
  Json entry = {{"domain", ""},
                {"name", ""},
                {"inputs", Json::array()},
                {"outputs", Json::array()},
                {"nodes", counts.nodes}};
  Status read = reader_.ForEach(function, [&](const WireField& field) {
    if (field.IsBytes(1)) return PutText(field.bytes, entry["name"]);
    if (field.IsBytes(4)) return AddName(field.bytes, entry["inputs"]);
    if (field.IsBytes(5)) return AddName(field.bytes, entry["outputs"]);
    if (field.IsBytes(10)) return PutText(field.bytes, entry["domain"]);
    return Status();
  });
  entry["ops"] = Operators(counts);
  if (read && Afford(5 * kValueBytes)) functions_.push_back(std::move(entry));
  return read;
}

std::string ModelJson::Text(const GraphCounts& graph) && {
  graph_["nodes"] = graph.nodes;
  graph_["initializers"] = graph.initializers;
  graph_["ops"] = Operators(graph);
  if (!sparse_.empty()) graph_["sparse_initializers"] = std::move(sparse_);
  model_["graph"] = std::move(graph_);
  if (!functions_.empty()) model_["functions"] = std::move(functions_);
  return FormatJson(model_);
}

}  // namespace ctxfs::onnx
