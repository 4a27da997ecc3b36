// SPDX-License-Identifier: Apache-2.0
//
// The header of a safetensors file (docs/safetensors.md, section 2): an object
// that may name millions of tensors, so it is parsed as events, and kept as
// records of 32 bytes.
#include "core/formats/safetensors/header.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "core/base/text.h"
#include "core/formats/safetensors/json_text.h"
#include "core/formats/safetensors/limits.h"

namespace ctxfs::safetensors {
namespace {

using Scalar = JsonEvents::Scalar;

constexpr std::array<std::pair<std::string_view, DType>, 22> kTypes = {{
    {"BOOL", DType::kBool},
    {"U8", DType::kU8},
    {"I8", DType::kI8},
    {"U16", DType::kU16},
    {"I16", DType::kI16},
    {"U32", DType::kU32},
    {"I32", DType::kI32},
    {"U64", DType::kU64},
    {"I64", DType::kI64},
    {"F16", DType::kF16},
    {"BF16", DType::kBf16},
    {"F32", DType::kF32},
    {"F64", DType::kF64},
    {"C64", DType::kC64},
    {"F8_E4M3", DType::kF8E4M3},
    {"F8_E5M2", DType::kF8E5M2},
    {"F8_E4M3FNUZ", DType::kF8E4M3Fnuz},
    {"F8_E5M2FNUZ", DType::kF8E5M2Fnuz},
    {"F8_E8M0", DType::kF8E8M0},
    {"F6_E2M3", DType::kF6E2M3},
    {"F6_E3M2", DType::kF6E3M2},
    {"F4", DType::kF4},
}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// Builds the records. A fault makes an entry malformed; parsing goes on.
class HeaderBuilder final : public JsonEvents {
 public:
  HeaderBuilder(uint64_t offset, SafetensorsFaults& faults)
      : offset_(offset), faults_(faults) {}

  bool OnKey(std::string& key) override {
    if (place_ == Place::kTop) {
      BeginValue(key);
    } else if (place_ == Place::kEntry) {
      BeginField(key);
    }
    return true;
  }

  bool OnScalar(Scalar kind, uint64_t number, std::string& text) override {
    switch (place_) {
      case Place::kTop:
        ScalarValue(kind);
        return true;
      case Place::kMetadata:
        if (kind != Scalar::kString)
          BreakMetadata("has a value that is not a string");
        return true;
      case Place::kEntry:
        ScalarField(kind, text);
        return true;
      case Place::kShape:
        return AddDim(kind, number);
      case Place::kOffsets:
        AddOffset(kind, number);
        return true;
      case Place::kSkipped:
        return true;
    }
    return true;
  }

  bool OnOpen(bool is_array) override {
    if (depth_++ == 0) return true;  // the header itself, which is an object
    switch (place_) {
      case Place::kTop:
        OpenValue(is_array);
        return true;
      case Place::kEntry:
        OpenField(is_array);
        return true;
      case Place::kMetadata:
        BreakMetadata("has a value that is not a string");
        break;
      case Place::kShape:
      case Place::kOffsets:
        Break("has an array within an array");
        break;
      case Place::kSkipped:
        return true;
    }
    Skip();
    return true;
  }

  bool OnClose() override {
    --depth_;
    switch (place_) {
      case Place::kSkipped:
        if (depth_ == skipped_from_) place_ = after_skipped_;
        break;
      case Place::kMetadata:
        header_.metadata->length = at() - header_.metadata->offset;
        if (metadata_broken_) header_.metadata.reset();
        place_ = Place::kTop;
        break;
      case Place::kEntry:
        EndEntry();
        place_ = Place::kTop;
        break;
      case Place::kShape:
        place_ = Place::kEntry;
        break;
      case Place::kOffsets:
        if (entry_.offsets != 2) Break("has data_offsets that are not two");
        place_ = Place::kEntry;
        break;
      case Place::kTop:
        break;
    }
    return true;
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
  enum class Field : uint8_t { kDType, kShape, kOffsets, kOther };

  /// A tensor as far as it has been read.
  struct Entry {
    SafetensorsTensor tensor;
    bool has_dtype = false;
    bool has_shape = false;
    bool has_offsets = false;
    unsigned offsets = 0;
    bool broken = false;
    size_t at = 0;
  };

  uint64_t FileOffset(size_t at) const { return offset_ + at; }

  void Skip() {
    skipped_from_ = depth_ - 1;
    after_skipped_ = place_;
    place_ = Place::kSkipped;
  }

  void BeginValue(std::string& key) {
    is_metadata_ = key == "__metadata__";
    entry_ = {};
    entry_.at = at();
    name_ = std::move(key);
    if (!is_metadata_) return;
    if (had_metadata_) BreakMetadata("occurs twice");
    had_metadata_ = true;
  }

  void ScalarValue(Scalar kind) {
    if (!is_metadata_) {
      Break("is not an object");
      EndEntry();
    } else if (kind != Scalar::kNull) {
      BreakMetadata("is neither an object nor null");
    }
  }

  void OpenValue(bool is_array) {
    if (is_metadata_ && !is_array && !metadata_seen_) {
      metadata_seen_ = true;
      header_.metadata = SafetensorsHeader::Part{at() - 1, 0};
      place_ = Place::kMetadata;
      return;
    }
    if (!is_metadata_ && !is_array) {
      place_ = Place::kEntry;
      return;
    }
    if (!is_metadata_) {
      Break("is not an object");
      EndEntry();
    } else if (is_array) {
      BreakMetadata("is neither an object nor null");
    }
    Skip();
  }

  void BreakMetadata(const char* why) {
    if (!metadata_broken_) {
      faults_.Add(std::string("__metadata__ ") + why, FileOffset(at()));
    }
    metadata_broken_ = true;
    if (place_ != Place::kMetadata) header_.metadata.reset();
  }

  void BeginField(const std::string& key) {
    field_ = key == "dtype"          ? Field::kDType
             : key == "shape"        ? Field::kShape
             : key == "data_offsets" ? Field::kOffsets
                                     : Field::kOther;
    bool* has = field_ == Field::kDType     ? &entry_.has_dtype
                : field_ == Field::kShape   ? &entry_.has_shape
                : field_ == Field::kOffsets ? &entry_.has_offsets
                                            : nullptr;
    if (has != nullptr && std::exchange(*has, true)) {
      Break("has a field twice");
    }
  }

  void ScalarField(Scalar kind, const std::string& text) {
    if (field_ == Field::kOther) return;
    if (field_ != Field::kDType) {
      return Break("has a shape or data_offsets that is not an array");
    }
    if (kind != Scalar::kString) {
      return Break("has a dtype that is not a string");
    }
    entry_.tensor.dtype = DTypeCode(text);
  }

  void OpenField(bool is_array) {
    if (field_ == Field::kShape && is_array) {
      place_ = Place::kShape;
      entry_.tensor.dims_at = static_cast<uint32_t>(header_.dims.size());
      entry_.tensor.rank = 0;
      return;
    }
    if (field_ == Field::kOffsets && is_array) {
      place_ = Place::kOffsets;
      return;
    }
    if (field_ != Field::kOther) Break("has a field of the wrong type");
    Skip();
  }

  bool AddDim(Scalar kind, uint64_t number) {
    if (kind != Scalar::kUnsigned) {
      Break("has a shape that is not of integers from 0 to 2^64 - 1");
      return true;
    }
    if (header_.dims.size() >= kMostDims) {
      return Fail({Code::kLimit,
                   "the shapes have more than " + std::to_string(kMostDims) +
                       " dimensions",
                   at()});
    }
    header_.dims.push_back(number);
    ++entry_.tensor.rank;
    return true;
  }

  void AddOffset(Scalar kind, uint64_t number) {
    if (kind != Scalar::kUnsigned) {
      return Break("has data_offsets that are not integers from 0 to 2^64 - 1");
    }
    if (entry_.offsets == 0) entry_.tensor.begin = number;
    if (entry_.offsets == 1) entry_.tensor.end = number;
    if (entry_.offsets <= 2) ++entry_.offsets;
  }

  uint32_t DTypeCode(const std::string& text) {
    for (const auto& [name, dtype] : kTypes) {
      if (name == text) return static_cast<uint32_t>(dtype);
    }
    const auto number = static_cast<uint32_t>(header_.other_dtypes.size());
    const auto [found, is_new] = others_.try_emplace(Lower(text), number);
    if (is_new) header_.other_dtypes.push_back(found->first);
    return SafetensorsTensor::kFirstOtherDType + found->second;
  }

  void Break(const char* why) {
    if (entry_.broken) return;
    entry_.broken = true;
    faults_.Add("the entry of " + Quote(name_) + " " + why, FileOffset(at()));
  }

  void EndEntry() {
    if (!entry_.has_dtype || !entry_.has_shape || !entry_.has_offsets) {
      Break("lacks dtype, shape or data_offsets");
    }
    if (entry_.broken) {
      ++header_.left_out;
      return;
    }
    header_.names.Add(name_);
    header_.tensors.push_back(entry_.tensor);
  }

  const uint64_t offset_;
  SafetensorsFaults& faults_;
  SafetensorsHeader header_;
  std::unordered_map<std::string, uint32_t> others_;
  Place place_ = Place::kTop;
  size_t depth_ = 0;
  size_t skipped_from_ = 0;  // depth around the skipped value
  Place after_skipped_ = Place::kTop;
  std::string name_;
  Entry entry_;
  Field field_ = Field::kOther;
  bool is_metadata_ = false;
  bool had_metadata_ = false;   // the key
  bool metadata_seen_ = false;  // an object
  bool metadata_broken_ = false;
};

}  // namespace

void SafetensorsFaults::Add(std::string what, uint64_t offset) {
  if (count++ < kMostFaults) {
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
  return "tensor " + std::to_string(tensor) + " " + Quote(names[tensor]);
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
  for (const auto& [tensor, earlier] : header.names.Sort()) {
    faults.Add(header.Label(tensor) + " has the name of tensor " +
                   std::to_string(earlier),
               offset);
  }
  return header;
}

}  // namespace ctxfs::safetensors
