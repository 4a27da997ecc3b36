// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/metadata_text.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/errors.h"
#include "core/base/json/json_events.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

Json AsJson(const JsonScalar& scalar) {
  return std::visit(
      [](auto value) -> Json {
        if constexpr (std::is_pointer_v<decltype(value)>) {
          return std::move(*value);
        } else {
          return value;
        }
      },
      scalar);
}

/// Builds a Json of all but the parts that are passed over.
class Builder final : public JsonEvents {
 public:
  explicit Builder(MetadataText& text) : text_(text) {}

  void OnScalar(const JsonScalar& scalar) override {
    if (part_ != nullptr && depth() == 1) {
      part_ = nullptr;  // no object: there is nothing to show
      return;
    }
    if (part_ == nullptr) Place(AsJson(scalar));
  }

  void OnKey(std::string& key) override {
    if (part_ != nullptr) return;
    if (depth() == 1 && key == "attributes") part_ = &text_.attributes;
    if (depth() == 1 && key == "consolidated_metadata") {
      part_ = &text_.consolidated;
    }
    key_ = std::move(key);
    if (part_ != nullptr) part_->reset();  // the last of equal keys counts
  }

  void OnOpen(bool is_array) override {
    if (depth() >= kMaxNesting) {
      return Fail(OverLimit("levels of JSON are", kMaxNesting));
    }
    if (part_ != nullptr) {
      if (depth() == 1) *part_ = Part{at() - 1, 0};
      return;
    }
    open_.push_back(Place(is_array ? Json::array() : Json::object()));
  }

  void OnClose() override {
    if (part_ == nullptr) return open_.pop_back();
    if (depth() != 1) return;
    (*part_)->end = at();
    part_ = nullptr;
  }

 private:
  Json* Place(Json value) {
    if (++count_ > kMaxValues) {
      Fail(OverLimit("values of metadata are", kMaxValues));
    }
    if (open_.empty()) {
      text_.root = std::move(value);
      return &text_.root;
    }
    Json& parent = *open_.back();
    if (!parent.is_array()) return &(parent[key_] = std::move(value));
    parent.push_back(std::move(value));
    return &parent.back();
  }

  MetadataText& text_;
  std::vector<Json*> open_;  // the enclosing values, outermost first
  std::string key_;
  std::optional<Part>* part_ = nullptr;  // being passed over
  uint64_t count_ = 0;
};

}  // namespace

Result<MetadataText> ReadMetadata(std::string_view text,
                                  const Request& request) {
  MetadataText metadata;
  Builder builder(metadata);
  Result<size_t> read = ReadJson(text, JsonDialect::kPython,
                                 JsonExtent::kWholeText, builder, request);
  if (!read) return Within("json", std::move(read).error());
  if (!metadata.root.is_object()) {
    return Error{Code::kCorrupt, "json: it is no object", 0};
  }
  return metadata;
}

}  // namespace ctxfs::zarr
