// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file (docs/formats/safetensors.md, section 2): an
// object that may name millions of tensors, so it is parsed as events, and kept
// as records of 32 bytes.
#include "core/formats/safetensors/header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/rank.h"
#include "core/base/text/text.h"
#include "core/formats/safetensors/json_text.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Returns the type that section 3 names `text`. Section 3 uses ctxfs's names
/// in capitals, and lacks c32 and c128.
std::optional<DType> TypeOf(std::string_view text) {
  const std::string name = Lower(text);
  const bool capitals = std::none_of(
      text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const std::optional<DType> dtype = DTypeOf(name);
  const bool missing = dtype == DType::kC32 || dtype == DType::kC128;
  return capitals && !missing ? dtype : std::nullopt;
}

/// Builds the records. A fault within an entry makes that entry malformed, and
/// parsing continues.
class HeaderBuilder final : public JsonTextEvents {
 public:
  HeaderBuilder(uint64_t offset, SafetensorsFaults& faults)
      : offset_(offset), faults_(faults) {}

  void OnKey(std::string& key) override {
    if (place_ == Place::kTop) BeginValue(key);
    if (place_ == Place::kEntry) BeginField(key);
  }

  void OnScalar(const JsonScalar& scalar) override {
    switch (place_) {
      case Place::kTop:
        if (is_metadata_ && std::get_if<std::nullptr_t>(&scalar)) return;
        return RefuseValue();
      case Place::kMetadata:
        if (!std::get_if<std::string*>(&scalar)) RefuseMetadataValue();
        return;
      case Place::kEntry:
        return ScalarField(std::get_if<std::string*>(&scalar));
      case Place::kShape:
        return AddDim(std::get_if<uint64_t>(&scalar));
      case Place::kOffsets:
        return AddOffset(std::get_if<uint64_t>(&scalar));
      case Place::kSkipped:
        return;
    }
  }

  void OnOpen(bool is_array) override {
    if (!MayOpen()) return;
    if (depth() == 0) return;  // the header itself, which is an object
    switch (place_) {
      case Place::kTop:
        return OpenValue(is_array);
      case Place::kEntry:
        return OpenField(is_array);
      case Place::kMetadata:
        RefuseMetadataValue();
        return Skip();
      case Place::kShape:
      case Place::kOffsets:
        Break("has an array within an array");
        return Skip();
      case Place::kSkipped:
        return;
    }
  }

  void OnClose() override {
    switch (place_) {
      case Place::kSkipped:
        if (depth() == skipped_from_) place_ = after_skipped_;
        return;
      case Place::kMetadata:
        header_.metadata->length = at() - header_.metadata->offset;
        if (metadata_broken_) header_.metadata.reset();
        place_ = Place::kTop;
        return;
      case Place::kEntry:
        EndEntry();
        place_ = Place::kTop;
        return;
      case Place::kOffsets:
        if (entry_.offsets != 2) Break("has data_offsets that are not two");
        [[fallthrough]];
      case Place::kShape:
        place_ = Place::kEntry;
        return;
      case Place::kTop:
        return;
    }
  }

  SafetensorsHeader Take() { return std::move(header_); }

 private:
  enum class Place : uint8_t {
    kTop,       // in the header, between values
    kMetadata,  // in the `__metadata__` object
    kEntry,     // in the object of a tensor
    kShape,     // in its shape
    kOffsets,   // in its data_offsets
    kSkipped,   // in a value that is ignored
  };
  enum Field : uint8_t { kDType, kShape, kOffsets, kOther };

  /// The tensor that is being read.
  struct Entry {
    SafetensorsTensor tensor;
    std::array<bool, kOther> has{};  // by Field
    unsigned offsets = 0;
    bool broken = false;
  };

  uint64_t FileOffset() const { return offset_ + at(); }

  void Skip() {
    skipped_from_ = depth();
    after_skipped_ = place_;
    place_ = Place::kSkipped;
  }

  void BeginValue(std::string& key) {
    is_metadata_ = key == "__metadata__";
    entry_ = {};
    name_ = std::move(key);
    if (is_metadata_ && std::exchange(had_metadata_, true)) {
      BreakMetadata("occurs twice");
    }
  }

  void OpenValue(bool is_array) {
    if (is_array || (is_metadata_ && metadata_broken_)) {
      RefuseValue();
      Skip();
    } else if (is_metadata_) {
      header_.metadata = SafetensorsHeader::Part{at() - 1, 0};
      place_ = Place::kMetadata;
    } else {
      place_ = Place::kEntry;
    }
  }

  void RefuseValue() {
    if (is_metadata_) return BreakMetadata("is neither an object nor null");
    Break("is not an object");
    EndEntry();
  }

  void RefuseMetadataValue() {
    BreakMetadata("has a value that is not a string");
  }

  /// Reports only the first fault of the metadata.
  void BreakMetadata(const char* why) {
    if (!std::exchange(metadata_broken_, true)) {
      faults_.Add(std::string("__metadata__ ") + why, FileOffset());
    }
    if (place_ != Place::kMetadata) header_.metadata.reset();
  }

  void BeginField(const std::string& key) {
    constexpr std::string_view kFields[] = {"dtype", "shape", "data_offsets"};
    const auto* found = std::find(std::begin(kFields), std::end(kFields), key);
    field_ = static_cast<Field>(found - std::begin(kFields));
    if (field_ != kOther && std::exchange(entry_.has[field_], true)) {
      Break("has a field twice");
    }
  }

  /// `text`: null if the value is not a string.
  void ScalarField(const std::string* const* text) {
    if (field_ == kOther) return;
    if (field_ != kDType) {
      return Break("has a shape or data_offsets that is not an array");
    }
    if (text == nullptr) return Break("has a dtype that is not a string");
    entry_.tensor.dtype = DTypeCode(**text);
  }

  void OpenField(bool is_array) {
    if (field_ == kShape && is_array) {
      place_ = Place::kShape;
      entry_.tensor.dims_at = static_cast<uint32_t>(header_.dims.size());
      entry_.tensor.rank = 0;
      return;
    }
    if (field_ == kOffsets && is_array) {
      place_ = Place::kOffsets;
      return;
    }
    if (field_ != kOther) Break("has a field of the wrong type");
    Skip();
  }

  /// `number`: null if the value is not an integer from 0 to 2^64 - 1.
  void AddDim(const uint64_t* number) {
    if (number == nullptr) {
      return Break("has a shape that is not of integers from 0 to 2^64 - 1");
    }
    if (entry_.tensor.rank >= limits::kArrayRank) {
      return Fail({Code::kLimit,
                   fmt::format("a tensor has more than {} dimensions",
                               limits::kArrayRank),
                   at()});
    }
    if (header_.dims.size() >= kMaxDims) {
      return Fail(
          {Code::kLimit,
           fmt::format("the shapes have more than {} dimensions", kMaxDims),
           at()});
    }
    if (Status may = AdmitGrowth(header_.dims); !may) {
      return Fail(std::move(may).error());
    }
    header_.dims.push_back(*number);
    ++entry_.tensor.rank;
  }

  void AddOffset(const uint64_t* number) {
    if (number == nullptr) {
      return Break("has data_offsets that are not integers from 0 to 2^64 - 1");
    }
    if (entry_.offsets == 0) entry_.tensor.begin = *number;
    if (entry_.offsets == 1) entry_.tensor.end = *number;
    if (entry_.offsets <= 2) ++entry_.offsets;
  }

  uint32_t DTypeCode(const std::string& text) {
    if (const std::optional<DType> known = TypeOf(text)) {
      return static_cast<uint32_t>(*known);
    }
    const auto number = static_cast<uint32_t>(header_.other_dtypes.size());
    const auto [found, is_new] = others_.try_emplace(Lower(text), number);
    if (is_new) header_.other_dtypes.push_back(found->first);
    return SafetensorsTensor::kFirstOtherDType + found->second;
  }

  void Break(const char* why) {
    if (std::exchange(entry_.broken, true)) return;
    faults_.Add("the entry of " + Quote(name_) + " " + why, FileOffset());
  }

  void EndEntry() {
    if (std::ranges::count(entry_.has, false) > 0) {
      Break("lacks dtype, shape or data_offsets");
    }
    if (entry_.broken) {
      ++header_.left_out;
      return;
    }
    Status may = AdmitGrowth(header_.tensors);
    if (may) may = header_.names.Add(name_);
    if (!may) return Fail(std::move(may).error());
    header_.tensors.push_back(entry_.tensor);
  }

  const uint64_t offset_;
  SafetensorsFaults& faults_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, uint32_t> others_;
  Place place_ = Place::kTop;
  size_t skipped_from_ = 0;  // depth around the skipped value
  Place after_skipped_ = Place::kTop;
  std::string name_;
  Entry entry_;
  Field field_ = kOther;
  bool is_metadata_ = false;
  bool had_metadata_ = false;
  bool metadata_broken_ = false;
};

}  // namespace

void SafetensorsFaults::Add(std::string what, uint64_t offset) {
  if (count++ < kMaxFaults) {
    first.push_back({Code::kCorrupt, std::move(what), offset});
  }
}

std::span<const uint64_t> SafetensorsHeader::Shape(uint32_t tensor) const {
  const SafetensorsTensor& record = tensors[tensor];
  return std::span(dims).subspan(record.dims_at, record.rank);
}

std::optional<DType> SafetensorsHeader::KnownDType(uint32_t tensor) const {
  const uint32_t code = tensors[tensor].dtype;
  if (code >= SafetensorsTensor::kFirstOtherDType) return std::nullopt;
  return static_cast<DType>(code);
}

std::string_view SafetensorsHeader::DTypeText(uint32_t tensor) const {
  if (const std::optional<DType> known = KnownDType(tensor)) {
    return DTypeName(*known);
  }
  return other_dtypes[tensors[tensor].dtype -
                      SafetensorsTensor::kFirstOtherDType];
}

std::string SafetensorsHeader::Label(uint32_t tensor) const {
  return fmt::format("tensor {} {}", tensor, Quote(names[tensor]));
}

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view json,
                                                 uint64_t offset,
                                                 SafetensorsFaults& faults,
                                                 const ReadContext& context) {
  HeaderBuilder builder(offset, faults);
  if (Status parsed = ParseJsonText(json, builder, context); !parsed) {
    Error error = std::move(parsed).error();
    if (error.offset != kNoOffset) error.offset += offset;
    error.what = "the header is " + error.what;
    return error;
  }
  SafetensorsHeader header = builder.Take();
  const auto repeated = CTXFS_TRY(header.names.Sort());
  for (const auto& [tensor, earlier] : repeated) {
    faults.Add(fmt::format("{} has the name of tensor {}", header.Label(tensor),
                           earlier),
               offset);
  }
  return header;
}

}  // namespace ctxfs::safetensors
