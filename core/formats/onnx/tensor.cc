// SPDX-License-Identifier: Apache-2.0
#include "core/formats/onnx/tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/rank.h"
#include "core/base/text/text.h"
#include "core/formats/onnx/external.h"
#include "core/formats/onnx/limits.h"

namespace ctxfs::onnx {
namespace {

/// Totals over all occurrences of one typed field.
struct TypedData {
  uint64_t single = 0;        // values with their own tag
  uint64_t packed_bytes = 0;  // bytes of packed values, or of strings
  uint64_t chunks = 0;        // pieces of packed values
  WireRange chunk;            // the last one
};

/// The fields of a TensorProto as stored.
struct RawTensor {
  Tensor tensor;
  std::map<uint64_t, TypedData> typed;  // by field number; at most six
  std::optional<WireRange> raw_data;
  std::map<std::string, std::string> external;
  bool has_segment = false;
  bool is_external = false;
};

bool IsTypedField(uint64_t number) {
  return (number >= 4 && number <= 7) || number == 10 || number == 11;
}

void AddTyped(const WireField& field, RawTensor& raw) {
  const auto kind = static_cast<TypedField>(field.number);
  if (field.type == WireTypeOf(kind)) {
    TypedData& data = raw.typed[field.number];
    ++data.single;
    if (kind == TypedField::kString) data.packed_bytes += field.bytes.size();
  } else if (field.type == WireType::kBytes) {
    TypedData& data = raw.typed[field.number];
    ++data.chunks;
    data.packed_bytes += field.bytes.size();
    data.chunk = field.bytes;
  }
}

/// Reads a StringStringEntry of external_data. Valid keys and values are short:
/// truncates longer ones.
Status AddExternal(WireReader& reader, WireRange message, RawTensor& raw) {
  constexpr uint64_t kMaxKey = 64;
  constexpr size_t kMaxEntries = 64;
  const auto entry = CTXFS_TRY(reader.ReadEntry(message));
  std::string name = CTXFS_TRY(reader.Text(entry.first, kMaxKey));
  std::string text = CTXFS_TRY(reader.Text(entry.second, kMaxLocation + 1));
  if (raw.external.size() < kMaxEntries || raw.external.contains(name)) {
    raw.external[std::move(name)] = std::move(text);
  }
  return {};
}

Status AddField(WireReader& reader, const WireField& field, RawTensor& raw) {
  if (IsTypedField(field.number)) {
    AddTyped(field, raw);
    return {};
  }
  if (field.number == 1 &&
      (field.type == WireType::kVarint || field.type == WireType::kBytes)) {
    return ReadDims(reader, field, raw.tensor.dims);
  }
  if (field.IsVarint(2)) {
    raw.tensor.data_type = static_cast<int32_t>(field.value);
  }
  if (field.IsBytes(3)) raw.has_segment = true;
  if (field.IsBytes(8)) raw.tensor.name = field.bytes;
  if (field.IsBytes(9)) raw.raw_data = field.bytes;
  if (field.IsBytes(13)) return AddExternal(reader, field.bytes, raw);
  if (field.IsVarint(14)) raw.is_external = field.value == 1;
  return {};
}

std::string WrongSize(uint64_t have, uint64_t want, const char* what) {
  return fmt::format("{} {}, but its type and shape need {}", have, what, want);
}

/// Checks the elements of a typed field (docs/formats/onnx.md, section 4);
/// returns the fault, if any.
std::string UseTyped(const ElementType& type, const TypedData& data,
                     Tensor& tensor) {
  const std::optional<uint64_t> values = ValuesOf(type, tensor.elements);
  if (!values) return "its shape needs 2^64 bytes or more";
  const size_t width = FixedBytes(WireTypeOf(type.field));
  const uint64_t want = *values;
  if (width > 0) {
    const uint64_t have = data.single + data.packed_bytes / width;
    if (data.packed_bytes % width != 0) return "a packed value is cut off";
    if (have != want) return WrongSize(have, want, "values");
    if (data.chunks == 1 && data.single == 0) {
      tensor.storage = Tensor::Storage::kStored;
      tensor.data = data.chunk;
      return {};
    }
  } else {
    // A packed varint takes 1 to 10 bytes, so the bytes bound the number of
    // values.
    const bool too_few = data.single + data.packed_bytes < want;
    if (too_few || data.single + data.packed_bytes / 10 > want) {
      return fmt::format("it has too {} values: its type and shape need {}",
                         too_few ? "few" : "many", want);
    }
  }
  if (tensor.size > limits::kDecodedBytes) {
    return fmt::format(
        "its {} bytes are over the limit of {} for decoded values", tensor.size,
        limits::kDecodedBytes);
  }
  tensor.storage = Tensor::Storage::kTyped;
  return {};
}

/// Parses a decimal number below 2^63.
std::optional<uint64_t> Decimal(const std::string& text) {
  uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, c - '0', &value) || value > INT64_MAX) {
      return std::nullopt;
    }
  }
  if (text.empty()) return std::nullopt;
  return value;
}

/// Checks external data (docs/formats/onnx.md, section 6); returns the fault,
/// if any.
std::string UseExternal(const RawTensor& raw, Tensor& tensor) {
  const auto location = raw.external.find("location");
  if (location == raw.external.end()) return "external: it has no location";
  const std::optional<std::string> path = LocationBelow(location->second);
  if (!path) {
    return "external: its location " + Quote(location->second) +
           " is not a path below the model's directory";
  }
  tensor.external.location = *path;
  std::optional<uint64_t> offset;
  for (const auto& [key, number] :
       {std::pair{"offset", &offset},
        std::pair{"length", &tensor.external.length}}) {
    const auto found = raw.external.find(key);
    if (found == raw.external.end()) continue;
    *number = Decimal(found->second);
    if (!*number) {
      return "external: its " + std::string(key) + " " + Quote(found->second) +
             " is not a number below 2^63";
    }
  }
  tensor.external.offset = offset.value_or(0);
  if (tensor.external.length && *tensor.external.length != tensor.size) {
    return "external: " +
           WrongSize(*tensor.external.length, tensor.size, "bytes");
  }
  tensor.storage = Tensor::Storage::kExternal;
  return {};
}

std::string UseStrings(const RawTensor& raw, Tensor& tensor) {
  const auto found = raw.typed.find(static_cast<uint64_t>(TypedField::kString));
  const TypedData data = found == raw.typed.end() ? TypedData{} : found->second;
  if (raw.raw_data || raw.is_external) {
    return "strings can only be in string_data";
  }
  if (data.single != tensor.elements) {
    return WrongSize(data.single, tensor.elements, "strings");
  }
  if (data.packed_bytes > kMaxStringBytes) {
    return fmt::format("its strings take more than {} bytes", kMaxStringBytes);
  }
  tensor.storage = Tensor::Storage::kStrings;
  return {};
}

/// Locates the bytes; returns the fault, if any.
std::string Place(const RawTensor& raw, Tensor& tensor) {
  const ElementType* type = ElementTypeOf(tensor.data_type);
  if (type == nullptr) {
    return fmt::format("there are no elements of type {}", tensor.data_type);
  }
  const std::optional<uint64_t> elements = ElementCount(tensor.dims);
  const std::optional<uint64_t> size =
      elements ? BytesOf(*type, *elements) : std::nullopt;
  if (!size) return "its shape has a negative dimension or is too large";
  tensor.elements = *elements;
  tensor.size = *size;
  if (raw.has_segment) return "it is a segment of a tensor";
  if (type->code == kStringType) return UseStrings(raw, tensor);
  if (raw.is_external) return UseExternal(raw, tensor);
  if (raw.raw_data) {
    if (raw.raw_data->size() != *size) {
      return WrongSize(raw.raw_data->size(), *size, "bytes");
    }
    tensor.storage = Tensor::Storage::kStored;
    tensor.data = *raw.raw_data;
    return {};
  }
  const auto typed = raw.typed.find(static_cast<uint64_t>(type->field));
  if (typed != raw.typed.end()) return UseTyped(*type, typed->second, tensor);
  if (*elements > 0) return "it has no data";
  tensor.storage = Tensor::Storage::kStored;
  return {};
}

}  // namespace

Status ReadDims(WireReader& reader, const WireField& field,
                std::vector<int64_t>& dims) {
  const auto add = [&](uint64_t value) -> Status {
    if (dims.size() >= limits::kArrayRank) {
      return Error{Code::kLimit,
                   fmt::format("a tensor has more than {} dimensions",
                               limits::kArrayRank),
                   field.at};
    }
    dims.push_back(static_cast<int64_t>(value));
    return {};
  };
  if (field.type == WireType::kVarint) return add(field.value);
  if (field.type != WireType::kBytes) return {};
  for (uint64_t at = field.bytes.begin; at < field.bytes.end;) {
    const uint64_t value = CTXFS_TRY(reader.Varint(at, field.bytes.end));
    CTXFS_TRY(add(value));
  }
  return {};
}

std::optional<uint64_t> ElementCount(const std::vector<int64_t>& dims) {
  if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) {
    return std::nullopt;
  }
  if (std::ranges::find(dims, 0) != dims.end()) return 0;
  std::optional<uint64_t> count = 1;
  for (const int64_t dim : dims) {
    if (count) count = CheckedMul(*count, static_cast<uint64_t>(dim));
  }
  if (!count || *count > INT64_MAX) return std::nullopt;
  return count;
}

Result<Tensor> ReadTensor(WireReader& reader, const WireRanges& message) {
  RawTensor raw;
  Status read = reader.ForEach(message, [&](const WireField& field) {
    return AddField(reader, field, raw);
  });
  if (!read) return std::move(read).error();
  Tensor tensor = std::move(raw.tensor);
  tensor.fault = Place(raw, tensor);
  if (!tensor.fault.empty()) {
    tensor.storage = Tensor::Storage::kFault;
    tensor.size = 0;
  }
  return tensor;
}

}  // namespace ctxfs::onnx
