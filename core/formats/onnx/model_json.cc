// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/model_json.h"

#include <fmt/core.h>

#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/types.h"

namespace ctxfs::onnx {
namespace {

// Memory and punctuation of a JSON value, besides its text.
constexpr uint64_t kValueBytes = 64;

// Estimated memory of an object with a few members.
constexpr uint64_t kObjectBytes = 1024;

Status Append(Json value, Json& list) {
  CTXFS_TRY(AdmitGrowth(list.get_ref<const Json::array_t&>()));
  list.push_back(std::move(value));
  return {};
}

Status Append(WireRange range, WireRanges& ranges) {
  CTXFS_TRY(AdmitGrowth(ranges));
  ranges.push_back(range);
  return {};
}

/// Truncates `text` to at most `most` bytes, between two UTF-8 characters.
void CutText(std::string& text, size_t most) {
  if (text.size() <= most) return;
  while (most > 0 &&
         (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) {
    --most;
  }
  text.resize(most);
}

}  // namespace

bool ModelJson::Charge(uint64_t bytes) {
  if (too_large()) return false;
  spent_ += std::min(bytes, kMaxJson) + kValueBytes;
  return !too_large();
}

Result<std::string> ModelJson::TextOf(WireRange range, uint64_t most) {
  if (!Charge(std::min(range.size(), most))) return std::string();
  return reader_.Text(range, most);
}

Status ModelJson::PutText(WireRange range, Json& into) {
  into = CTXFS_TRY(TextOf(range));
  return {};
}

Status ModelJson::AddModelField(const WireField& field) {
  if (field.IsVarint(1)) {
    ir_version_ = static_cast<int64_t>(field.value);
    model_["ir_version"] = SignedJson(ir_version_);
  }
  if (field.IsVarint(5)) {
    model_["model_version"] = SignedJson(static_cast<int64_t>(field.value));
  }
  if (field.IsBytes(2)) {
    CTXFS_TRY(PutText(field.bytes, model_["producer_name"]));
    const auto& name = model_["producer_name"].get_ref<const std::string&>();
    CTXFS_TRY(AdmitGrowth(producer_, name.size()));
    producer_ = name;
  }
  if (field.IsBytes(3)) return PutText(field.bytes, model_["producer_version"]);
  if (field.IsBytes(4)) return PutText(field.bytes, model_["domain"]);
  if (field.IsBytes(6)) {
    // Reads one byte more than the limit, so that CutText detects a cut
    // character.
    std::string text = CTXFS_TRY(TextOf(field.bytes, kMaxDocString + 1));
    CutText(text, kMaxDocString);
    model_["doc_string"] = std::move(text);
  }
  if (field.IsBytes(8)) return AddOpset(field.bytes);
  if (field.IsBytes(14)) return AddProperty(field.bytes);
  return {};
}

Status ModelJson::AddOpset(WireRange message) {
  Json opset = {{"domain", ""}, {"version", 0}};
  Status read = reader_.ForEach(message, [&](const WireField& field) -> Status {
    if (field.IsVarint(2)) {
      opset["version"] = SignedJson(static_cast<int64_t>(field.value));
    }
    if (field.IsBytes(1)) return PutText(field.bytes, opset["domain"]);
    return {};
  });
  if (!read || !Charge(kValueBytes)) return read;
  return Append(std::move(opset), model_["opset_import"]);
}

Status ModelJson::AddProperty(WireRange message) {
  const auto entry = CTXFS_TRY(reader_.ReadEntry(message));
  std::string name = CTXFS_TRY(TextOf(entry.first));
  std::string text = CTXFS_TRY(TextOf(entry.second));
  if (!too_large()) {
    model_["metadata_props"][std::move(name)] = std::move(text);
  }
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
    return field.IsBytes(2) ? Append(field.bytes, type) : Status();
  });
  if (!read) return read;
  Json value = CTXFS_TRY(TypeOf(type, /*level=*/3));
  CTXFS_TRY(PutText(name, value["name"]));
  return too_large() ? Status() : Append(std::move(value), list);
}

Result<Json> ModelJson::TypeOf(const WireRanges& type, unsigned level) {
  if (level > kMaxLevels) {
    return Error{
        Code::kLimit,
        fmt::format("nesting: types are nested more than {} messages deep",
                    kMaxLevels),
        type.empty() ? kNoOffset : type.front().begin};
  }
  // These fields are a oneof of protobuf: setting one clears the others.
  uint64_t kind = 0;
  WireRanges inner;
  Status read = reader_.ForEach(type, [&](const WireField& field) -> Status {
    const bool known = field.number == 1 || field.number == 4 ||
                       field.number == 5 || field.number == 7 ||
                       field.number == 8 || field.number == 9;
    if (!known || field.type != WireType::kBytes) return {};
    if (std::exchange(kind, field.number) != field.number) inner.clear();
    return Append(field.bytes, inner);
  });
  if (!read) return std::move(read).error();
  if (!Charge(kValueBytes)) return Json::object();
  if (kind == 0) return Json{{"dtype", nullptr}, {"shape", nullptr}};
  if (kind == 7) return Json{{"opaque", true}};
  if (kind == 1 || kind == 8) {
    Result<Json> tensor = TensorTypeOf(inner);
    if (!tensor || kind == 1) return tensor;
    return Json{{"sparse", std::move(*tensor)}};
  }
  // The element type is field 1 of a sequence or optional, field 2 of a map.
  const uint64_t wanted = kind == 5 ? 2 : 1;
  int64_t key = 0;
  WireRanges element;
  read = reader_.ForEach(inner, [&](const WireField& field) -> Status {
    if (field.IsVarint(1)) key = static_cast<int32_t>(field.value);
    return field.IsBytes(wanted) ? Append(field.bytes, element) : Status();
  });
  if (!read) return std::move(read).error();
  Json value = CTXFS_TRY(TypeOf(element, level + 2));
  if (kind == 4) return Json{{"sequence", std::move(value)}};
  if (kind == 9) return Json{{"optional", std::move(value)}};
  return Json{
      {"map", {{"key", DTypeNameOf(key)}, {"value", std::move(value)}}}};
}

Result<Json> ModelJson::TensorTypeOf(const WireRanges& type) {
  int64_t code = 0;
  WireRanges shape;
  Status read = reader_.ForEach(type, [&](const WireField& field) -> Status {
    if (field.IsVarint(1)) code = static_cast<int32_t>(field.value);
    return field.IsBytes(2) ? Append(field.bytes, shape) : Status();
  });
  if (!read) return std::move(read).error();
  Json tensor = {{"dtype", DTypeNameOf(code)}, {"shape", nullptr}};
  if (shape.empty()) return tensor;
  tensor["shape"] = CTXFS_TRY(ShapeOf(shape));
  return tensor;
}

Result<Json> ModelJson::ShapeOf(const WireRanges& shape) {
  Json dims = Json::array();
  Status read = reader_.ForEach(shape, [&](const WireField& field) -> Status {
    if (!field.IsBytes(1)) return {};
    Json dimension = CTXFS_TRY(DimensionOf(field.bytes));
    return Charge(0) ? Append(std::move(dimension), dims) : Status();
  });
  if (!read) return std::move(read).error();
  return dims;
}

Result<Json> ModelJson::DimensionOf(WireRange dimension) {
  // A number or a name; the last one counts.
  Json value = nullptr;
  Status read =
      reader_.ForEach(dimension, [&](const WireField& field) -> Status {
        if (field.IsVarint(1)) {
          value = SignedJson(static_cast<int64_t>(field.value));
        }
        return field.IsBytes(2) ? PutText(field.bytes, value) : Status();
      });
  if (!read) return std::move(read).error();
  return value;
}

Status ModelJson::AddSparse(const std::string& name,
                            const std::vector<int64_t>& dims, int64_t data_type,
                            uint64_t count) {
  if (!Charge(name.size() + dims.size() * kValueBytes)) return {};
  CTXFS_TRY(HeapAllowance::Admit(kObjectBytes + 2 * name.size()));
  Json shape = Json::array();
  for (const int64_t dim : dims) shape.push_back(SignedJson(dim));
  return Append({{"name", name},
                 {"shape", std::move(shape)},
                 {"dtype", DTypeNameOf(data_type)},
                 {"nnz", SignedJson(static_cast<int64_t>(count))}},
                sparse_);
}

Status ModelJson::AddName(WireRange range, Json& list) {
  std::string name = CTXFS_TRY(TextOf(range));
  return too_large() ? Status() : Append(std::move(name), list);
}

Json ModelJson::Operators(const GraphCounts& counts) {
  Json operators = Json::object();
  for (const auto& [name, count] : counts.operators) {
    // Stops if model.json becomes too large, or memory is refused. In the
    // second case opening the model fails later (HeapAllowance), so the
    // incomplete object is never shown.
    if (!Charge(name.size()) || !HeapAllowance::Admit(2 * name.size())) break;
    operators[name] = count;
  }
  return operators;
}

Status ModelJson::AddFunction(WireRange function, const GraphCounts& counts) {
  CTXFS_TRY(HeapAllowance::Admit(kObjectBytes));
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
  if (!read || !Charge(5 * kValueBytes)) return read;
  return Append(std::move(entry), functions_);
}

std::optional<std::string> ModelJson::Text(const GraphCounts& graph) && {
  graph_["nodes"] = graph.nodes;
  graph_["initializers"] = graph.initializers;
  graph_["ops"] = Operators(graph);
  if (!sparse_.empty()) graph_["sparse_initializers"] = std::move(sparse_);
  model_["graph"] = std::move(graph_);
  if (!functions_.empty()) model_["functions"] = std::move(functions_);
  if (too_large()) return std::nullopt;
  std::string text = FormatJson(model_);
  if (text.size() > kMaxJson) return std::nullopt;
  return text;
}

}  // namespace ctxfs::onnx
