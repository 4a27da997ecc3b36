// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/array_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/formats/zarr/fill_value.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

constexpr uint64_t kMaxExtent = INT64_MAX;

Error NotRead(std::string text) {
  return {Code::kUnsupported, std::move(text)};
}

/// The product of a shape and the size of an element; nullopt if it wraps.
std::optional<uint64_t> BytesOf(const std::vector<uint64_t>& shape,
                                uint64_t element) {
  // An extent of 0 makes the product 0, but must not hide that others wrap.
  uint64_t bytes = element;
  bool empty = false;
  for (const uint64_t extent : shape) {
    empty = empty || extent == 0;
    const auto product = CheckedMul(bytes, std::max<uint64_t>(extent, 1));
    if (!product || *product > kMaxExtent) return std::nullopt;
    bytes = *product;
  }
  return empty ? 0 : bytes;
}

/// Fails for a member of v3 metadata that must be understood.
Status CheckMembers(const Json& root) {
  static constexpr std::string_view kKnown[] = {"zarr_format",
                                                "node_type",
                                                "shape",
                                                "data_type",
                                                "chunk_grid",
                                                "chunk_key_encoding",
                                                "fill_value",
                                                "codecs",
                                                "attributes",
                                                "dimension_names",
                                                "storage_transformers"};
  for (const auto& [key, value] : root.items()) {
    if (std::ranges::find(kKnown, key) != std::end(kKnown)) continue;
    const Json* const must = MemberAt(value, "must_understand");
    if (must == nullptr || *must != false) {
      return NotRead("the extension " + Quote(key) + " is unknown");
    }
  }
  const Json* const transformers = MemberAt(root, "storage_transformers");
  if (transformers != nullptr && !transformers->empty()) {
    return NotRead("storage transformers are not read");
  }
  return {};
}

Json ConfigurationAt(const Json& root, const char* key) {
  const Json* const part = MemberAt(root, key);
  const Json* const found =
      part == nullptr ? nullptr : MemberAt(*part, "configuration");
  return found == nullptr ? Json() : *found;
}

std::string NameAt(const Json& root, const char* key) {
  const Json* const part = MemberAt(root, key);
  if (part == nullptr) return {};
  return part->is_string() ? part->get<std::string>() : TextAt(*part, "name");
}

Status SetKeys(const Json& root, ArrayPlan& plan) {
  const std::string name = NameAt(root, "chunk_key_encoding");
  const Json configuration = ConfigurationAt(root, "chunk_key_encoding");
  std::string separator = TextAt(configuration, "separator");
  if (name != "default" && name != "v2") {
    return NotRead("the chunk_key_encoding " + Quote(name) + " is unknown");
  }
  if (separator.empty()) separator = name == "v2" ? "." : "/";
  if (separator != "." && separator != "/") {
    return Error{Code::kCorrupt,
                 "chunk_key_encoding: its separator is neither "
                 "'.' nor '/'"};
  }
  plan.key_start = name == "v2" ? "" : "c";
  plan.separator = separator[0];
  return {};
}

/// Sets the type of v2 elements; "|O" is what a filter says.
Status SetType(const Json& root, ArrayPlan& plan) {
  const Json* const dtype = MemberAt(root, "dtype");
  if (dtype == nullptr) return Error{Code::kCorrupt, "dtype: there is none"};
  plan.type = CTXFS_TRY(TypeOfV2(*dtype));
  if (plan.type.kind != ElementType::Kind::kUnknown) return {};
  const bool object = *dtype == "|O";
  const Json* const filters = MemberAt(root, "filters");
  const Json none = Json::array();
  for (const Json& filter :
       filters != nullptr && filters->is_array() ? *filters : none) {
    const std::string id = TextAt(filter, "id");
    if (object && id == "vlen-utf8") plan.type.kind = ElementType::Kind::kText;
    if (object && id == "vlen-bytes") {
      plan.type.kind = ElementType::Kind::kBinary;
    }
    if (object && !plan.type.lines()) {
      return NotRead("objects of codec " + Quote(id) + " are not decoded");
    }
  }
  if (plan.type.lines()) return {};
  return NotRead("elements of dtype " + Quote(plan.type.name) +
                 " are not read");
}

Status SetOrder(const Json& root, ArrayPlan& plan, ChainBuilder& builder) {
  const std::string order = TextAt(root, "order");
  if (!order.empty() && order != "C" && order != "F") {
    return Error{Code::kCorrupt, "order: it is neither C nor F"};
  }
  if (order != "F" || plan.shape.size() < 2) return {};
  Json reversed = Json::array();
  for (size_t i = plan.shape.size(); i-- > 0;) reversed.push_back(i);
  return builder.Add("transpose", {{"order", std::move(reversed)}});
}

Status AddV2Codec(const Json& codec, ChainBuilder& builder) {
  const std::string id = TextAt(codec, "id");
  if (id.empty()) return Error{Code::kCorrupt, "codecs: one has no id"};
  const bool of_array = IsArrayFilter(id) || id.starts_with("vlen-");
  if (!of_array) CTXFS_TRY(builder.EndArray());
  return builder.Add("numcodecs." + id, codec);
}

Status SetV2Chain(const Json& root, ArrayPlan& plan) {
  ChainBuilder builder(plan.type, plan.chunk);
  CTXFS_TRY(SetOrder(root, plan, builder));
  const Json* const filters = MemberAt(root, "filters");
  if (filters != nullptr && !filters->is_null()) {
    if (!filters->is_array()) {
      return Error{Code::kCorrupt, "codecs: filters are no list"};
    }
    for (const Json& filter : *filters) CTXFS_TRY(AddV2Codec(filter, builder));
  }
  CTXFS_TRY(builder.EndArray());
  const Json* const compressor = MemberAt(root, "compressor");
  if (compressor != nullptr && !compressor->is_null()) {
    CTXFS_TRY(AddV2Codec(*compressor, builder));
  }
  plan.chain = CTXFS_TRY(std::move(builder).Build());
  return {};
}

Status SetDimensionNames(const Json& root, ArrayPlan& plan) {
  const Json* const names = MemberAt(root, "dimension_names");
  if (names == nullptr || names->is_null()) return {};
  if (!names->is_array() || names->size() != plan.shape.size()) {
    return Error{Code::kCorrupt,
                 "dimension_names: they are not one for each "
                 "dimension"};
  }
  plan.dimension_names = *names;
  return {};
}

}  // namespace

uint64_t ArrayPlan::Weight() const {
  const auto chunks = [this](const std::vector<uint64_t>& box) {
    uint64_t count = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      const uint64_t boxes = shape[i] / box[i] + (shape[i] % box[i] != 0);
      count = CheckedMul(count, boxes).value_or(UINT64_MAX);
    }
    return count;
  };
  const auto times = [](uint64_t count, uint64_t weight) {
    return CheckedMul(count, weight).value_or(UINT64_MAX);
  };
  const std::vector<uint64_t>* inner = &chunk;
  for (const Chain* at = &chain; at->shards != nullptr;
       at = &at->shards->inner) {
    inner = &at->shards->chunk;
  }
  return std::max({size, times(chunks(chunk), kChunkWeight),
                   times(chunks(*inner), kInnerChunkWeight)});
}

std::string ArrayPlan::KeyOf(const std::vector<uint64_t>& chunk_index) const {
  std::string key = key_start;
  for (const uint64_t number : chunk_index) {
    if (!key.empty()) key += separator;
    key += std::to_string(number);
  }
  return key.empty() ? "0" : key;
}

Result<std::vector<uint64_t>> ReadExtents(const Json& root, const char* key) {
  const Json* const list = MemberAt(root, key);
  const std::string what =
      std::string(key) == "shape" ? "shape" : "chunk_shape";
  if (list == nullptr || !list->is_array()) {
    return Error{Code::kCorrupt, what + ": there is no list of numbers"};
  }
  std::vector<uint64_t> extents;
  for (const Json& one : *list) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > kMaxExtent) {
      return Error{Code::kCorrupt, what + ": it has invalid numbers"};
    }
    if (extents.size() == limits::kRank) {
      return Error{Code::kCorrupt, fmt::format("rank: {} has more than {} "
                                               "dimensions",
                                               what, limits::kRank)};
    }
    extents.push_back(one.get<uint64_t>());
  }
  return extents;
}

Status SetShapes(std::vector<uint64_t> shape, std::vector<uint64_t> chunk,
                 ArrayPlan& plan) {
  if (shape.size() != chunk.size()) {
    return Error{Code::kCorrupt,
                 fmt::format("rank: the shape has {} dimensions, and a chunk "
                             "has {}",
                             shape.size(), chunk.size())};
  }
  if (std::ranges::find(chunk, 0) != chunk.end()) {
    return Error{Code::kCorrupt, "chunk_shape: an extent is 0"};
  }
  plan.shape = std::move(shape);
  plan.chunk = std::move(chunk);
  return {};
}

Status SetSize(ArrayPlan& plan) {
  // An empty text as a line of JSON has two quotes and the end of the line.
  constexpr uint64_t kLeastLine = 3;
  const uint64_t element = plan.type.lines() ? kLeastLine : plan.type.size;
  const auto size = BytesOf(plan.shape, element);
  const auto chunk = BytesOf(plan.chunk, element);
  if (!size || !chunk) {
    return Error{Code::kCorrupt,
                 "overflow: the shape has more than 2^63 bytes"};
  }
  plan.size = *size;
  if (plan.type.lines() && plan.size > kMaxTextBytes) {
    return OverLimit(fmt::format("at least {} bytes of text are", plan.size),
                     kMaxTextBytes);
  }
  return {};
}

Status SetFill(const Json& value, ArrayPlan& plan) {
  plan.fill = CTXFS_TRY(FillElement(plan.type, value));
  plan.fill_defined = !value.is_null();
  plan.fill_value = value;
  return {};
}

Status CheckChunkBytes(const Chain& chain) {
  const bool whole = !chain.array_steps.empty() || !chain.byte_steps.empty();
  if (whole && chain.size.value_or(0) > limits::kDecodedBytes) {
    return OverLimit(fmt::format("a chunk of {} decoded bytes is", *chain.size),
                     limits::kDecodedBytes);
  }
  return chain.shards == nullptr ? Status()
                                 : CheckChunkBytes(chain.shards->inner);
}

Result<ArrayPlan> PlanOfV2(const Json& root) {
  ArrayPlan plan;
  plan.version = 2;
  CTXFS_TRY(SetShapes(CTXFS_TRY(ReadExtents(root, "shape")),
                      CTXFS_TRY(ReadExtents(root, "chunks")), plan));
  const std::string separator = TextAt(root, "dimension_separator");
  plan.separator_guessed = separator.empty();
  plan.separator = separator == "/" ? '/' : '.';
  CTXFS_TRY(SetType(root, plan));
  CTXFS_TRY(SetSize(plan));
  CTXFS_TRY(SetV2Chain(root, plan));
  CTXFS_TRY(CheckChunkBytes(plan.chain));
  const Json* const fill = MemberAt(root, "fill_value");
  CTXFS_TRY(SetFill(fill == nullptr ? Json() : *fill, plan));
  return plan;
}

Result<ArrayPlan> PlanOfV3(const Json& root) {
  ArrayPlan plan;
  CTXFS_TRY(CheckMembers(root));
  std::vector<uint64_t> shape = CTXFS_TRY(ReadExtents(root, "shape"));
  const std::string grid = NameAt(root, "chunk_grid");
  if (grid != "regular") {
    return NotRead("the chunk_grid " + Quote(grid) + " is not read");
  }
  CTXFS_TRY(SetShapes(std::move(shape),
                      CTXFS_TRY(ReadExtents(ConfigurationAt(root, "chunk_grid"),
                                            "chunk_shape")),
                      plan));
  CTXFS_TRY(SetKeys(root, plan));
  CTXFS_TRY(SetDimensionNames(root, plan));
  const Json* const type = MemberAt(root, "data_type");
  plan.type = CTXFS_TRY(TypeOfV3(type == nullptr ? Json() : *type));
  if (plan.type.kind == ElementType::Kind::kUnknown) {
    return NotRead("elements of data_type " + Quote(plan.type.name) +
                   " are not read");
  }
  CTXFS_TRY(SetSize(plan));
  const Json* const codecs = MemberAt(root, "codecs");
  ChainBuilder builder(plan.type, plan.chunk);
  CTXFS_TRY(builder.AddAll(codecs == nullptr ? Json() : *codecs));
  plan.chain = CTXFS_TRY(std::move(builder).Build());
  CTXFS_TRY(CheckChunkBytes(plan.chain));
  const Json* const fill = MemberAt(root, "fill_value");
  if (fill == nullptr) {
    return Error{Code::kCorrupt, "fill_value: there is none"};
  }
  CTXFS_TRY(SetFill(*fill, plan));
  return plan;
}

}  // namespace ctxfs::zarr
