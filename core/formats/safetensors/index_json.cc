// SPDX-License-Identifier: Apache-2.0
#include "core/formats/safetensors/index_json.h"

#include <unordered_map>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/safetensors/json_text.h"

namespace ctxfs::safetensors {
namespace {

class IndexBuilder final : public JsonTextEvents {
 public:
  void OnKey(std::string& key) override {
    if (depth() == 1) BeginField(key);
    if (depth() == 2 && field_ == Field::kWeightMap) name_ = std::move(key);
  }

  void OnScalar(const JsonScalar& scalar) override {
    if (depth() == 0) return Refuse("the index is not a JSON object");
    if (field_ != Field::kWeightMap) return;
    if (depth() == 1) return Refuse("weight_map is not an object");
    const auto* text = std::get_if<std::string*>(&scalar);
    if (text == nullptr) return RefuseFile();
    AddTensor(std::move(**text));
  }

  void OnOpen(bool is_array) override {
    if (!MayOpen()) return;
    if (depth() == 0 && is_array) Refuse("the index is not a JSON object");
    if (depth() == 1 && field_ == Field::kWeightMap && is_array) {
      Refuse("weight_map is not an object");
    }
    if (depth() == 1 && field_ == Field::kMetadata && !is_array) {
      index_.metadata = SafetensorsHeader::Part{at() - 1, 0};
    }
    if (depth() >= 2 && field_ == Field::kWeightMap) RefuseFile();
  }

  void OnClose() override {
    if (depth() == 1 && field_ == Field::kMetadata && index_.metadata) {
      index_.metadata->length = at() - index_.metadata->offset;
    }
  }

  bool has_weight_map() const { return has_weight_map_; }
  SafetensorsIndexJson Take() { return std::move(index_); }

 private:
  enum class Field : uint8_t { kWeightMap, kMetadata, kOther };

  void Refuse(std::string what) {
    Fail({Code::kCorrupt, std::move(what), at()});
  }

  void RefuseFile() {
    Refuse("weight_map has a file name that is not a string, for " +
           Quote(name_));
  }

  void BeginField(const std::string& key) {
    field_ = key == "weight_map" ? Field::kWeightMap
             : key == "metadata" ? Field::kMetadata
                                 : Field::kOther;
    const bool repeated =
        (field_ == Field::kWeightMap && std::exchange(has_weight_map_, true)) ||
        (field_ == Field::kMetadata && std::exchange(has_metadata_, true));
    if (repeated) Refuse(key + " occurs twice");
  }

  void AddTensor(std::string file) {
    const auto number = static_cast<uint32_t>(index_.files.size());
    const auto [found, is_new] = files_.try_emplace(std::move(file), number);
    if (is_new) index_.files.push_back(found->first);
    Status may = AdmitGrowth(index_.file_of);
    if (may) may = index_.names.Add(name_);
    if (!may) return Fail(std::move(may).error());
    index_.file_of.push_back(found->second);
  }

  SafetensorsIndexJson index_;
  std::unordered_map<std::string, uint32_t> files_;
  std::string name_;
  Field field_ = Field::kOther;
  bool has_weight_map_ = false;
  bool has_metadata_ = false;
};

}  // namespace

Result<SafetensorsIndexJson> ParseSafetensorsIndex(std::string_view json,
                                                   const ReadContext& context) {
  IndexBuilder builder;
  if (Status parsed = ParseJsonText(json, builder, context); !parsed) {
    Error error = std::move(parsed).error();
    const bool meant = builder.has_weight_map() || !error.Permanent();
    if (!meant) error.code = Code::kNotContainer;
    return error;
  }
  if (!builder.has_weight_map()) {
    return Error{Code::kNotContainer,
                 "a JSON object without weight_map is not a safetensors index",
                 0};
  }
  SafetensorsIndexJson index = builder.Take();
  const auto repeated = CTXFS_TRY(index.names.Sort());
  if (repeated.empty()) return index;
  return Error{
      Code::kCorrupt,
      "weight_map has " + Quote(index.names[repeated.front().first]) + " twice",
      0};
}

}  // namespace ctxfs::safetensors
