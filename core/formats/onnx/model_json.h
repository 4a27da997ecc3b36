// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/onnx/graph.h"
#include "core/formats/onnx/limits.h"
#include "core/formats/onnx/wire.h"

namespace ctxfs::onnx {

/// Renders model.json (docs/formats/onnx.md, section 9) from the messages of a
/// model. Adds nothing beyond kMaxJson. Builds Json values instead of using
/// JsonWriter, because a message's fields come in any order and repeatedly, the
/// last one counts, and the members of the text are sorted.
class ModelJson {
 public:
  explicit ModelJson(WireReader& reader) : reader_(reader) {}

  /// Adds a ModelProto field other than graph and functions.
  Status AddModelField(const WireField& field);
  Status AddGraphField(const WireField& field);
  Status AddSparse(const std::string& name, const std::vector<int64_t>& dims,
                   int64_t data_type, uint64_t count);
  /// Adds a FunctionProto and the counts of its nodes.
  Status AddFunction(WireRange function, const GraphCounts& counts);

  int64_t ir_version() const { return ir_version_; }
  std::string TakeProducer() { return std::move(producer_); }

  /// Returns the text, with the graph's counts; nullopt if it would have more
  /// than kMaxJson bytes.
  std::optional<std::string> Text(const GraphCounts& graph) &&;

 private:
  bool too_large() const { return spent_ > kMaxJson; }
  /// Counts the memory of a value; returns whether it fits.
  bool Charge(uint64_t bytes);
  Result<std::string> TextOf(WireRange range, uint64_t most = UINT64_MAX);
  Status PutText(WireRange range, Json& into);
  Status AddOpset(WireRange message);
  Status AddProperty(WireRange message);
  Status AddValueInfo(WireRange message, Json& list);
  Status AddName(WireRange range, Json& list);
  Result<Json> TypeOf(const WireRanges& type, unsigned level);
  Result<Json> TensorTypeOf(const WireRanges& type);
  Result<Json> ShapeOf(const WireRanges& shape);
  Result<Json> DimensionOf(WireRange dimension);
  Json Operators(const GraphCounts& counts);

  WireReader& reader_;
  uint64_t spent_ = 0;
  int64_t ir_version_ = 0;
  std::string producer_;
  Json model_ = {{"producer_name", ""},
                 {"producer_version", ""},
                 {"domain", ""},
                 {"doc_string", ""},
                 {"model_version", 0},
                 {"ir_version", 0},
                 {"opset_import", Json::array()},
                 {"metadata_props", Json::object()}};
  Json graph_ = {
      {"name", ""}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  Json sparse_ = Json::array();
  Json functions_ = Json::array();
};

}  // namespace ctxfs::onnx
