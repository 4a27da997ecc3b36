// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/array_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/errors.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

constexpr uint64_t kMaxExtent = INT64_MAX;

Error NotRead(std::string text) {
  return {Code::kUnsupported, std::move(text)};
}

Error Wrong(std::string text) { return {Code::kCorrupt, std::move(text)}; }

/// The member at `key`, or null.
Json JsonAt(const Json& object, const char* key) {
  const Json* const found = MemberAt(object, key);
  return found == nullptr ? Json() : *found;
}

/// The numbers of a list; `what` names it in errors.
Result<Indices> ExtentsIn(const Json& list, const char* what) {
  if (!list.is_array()) {
    return Wrong(fmt::format("{}: there is no list of numbers", what));
  }
  if (list.size() > limits::kRank) {
    return Wrong(fmt::format("rank: {} has more than {} dimensions", what,
                             limits::kRank));
  }
  Indices extents;
  for (const Json& one : list) {
    if (!one.is_number_unsigned() || one.get<uint64_t>() > kMaxExtent) {
      return Wrong(fmt::format("{}: it has invalid numbers", what));
    }
    extents.push_back(one.get<uint64_t>());
  }
  return extents;
}

/// Sets shape and chunk, and compares their ranks.
Status SetShapes(const Json& shape, const Json& chunk, ArrayPlan& plan) {
  plan.shape = CTXFS_TRY(ExtentsIn(shape, "shape"));
  plan.chunk = CTXFS_TRY(ExtentsIn(chunk, "chunk_shape"));
  if (plan.shape.size() != plan.chunk.size()) {
    return Wrong(
        fmt::format("rank: the shape has {} dimensions, and a chunk has {}",
                    plan.shape.size(), plan.chunk.size()));
  }
  if (std::ranges::find(plan.chunk, 0) == plan.chunk.end()) return {};
  return Wrong("chunk_shape: an extent is 0");
}

/// The product of a shape and the size of an element; nullopt if it exceeds
/// kMaxExtent.
std::optional<uint64_t> BytesOf(const Indices& shape, uint64_t element) {
  // An extent of 0 makes the product 0, but must not hide that the product of
  // the other extents exceeds kMaxExtent.
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

/// Computes the size from shape and type, and checks that array and chunk do
/// not exceed kMaxExtent bytes.
Status SetSize(ArrayPlan& plan) {
  // An empty text as a line of JSON has two quotes and the end of the line.
  constexpr uint64_t kLeastLine = 3;
  const uint64_t element = plan.type.lines() ? kLeastLine : plan.type.size;
  const auto size = BytesOf(plan.shape, element);
  if (!size || !BytesOf(plan.chunk, element)) {
    return Wrong("overflow: the shape has more than 2^63 bytes");
  }
  plan.size = *size;
  if (!plan.type.lines() || plan.size <= kMaxTextBytes) return {};
  return OverLimit(fmt::format("at least {} bytes of text are", plan.size),
                   kMaxTextBytes);
}

/// Fails if a chunk that must be decoded is too large.
Status CheckChunkBytes(const Chain& chain) {
  const bool whole = chain.steps.size() > (chain.is_divided ? 1 : 0);
  if (whole && chain.size.value_or(0) > limits::kDecodedBytes) {
    return OverLimit(fmt::format("a chunk of {} decoded bytes is", *chain.size),
                     limits::kDecodedBytes);
  }
  return chain.shards == nullptr ? Status()
                                 : CheckChunkBytes(chain.shards->inner);
}

/// Sets the members that depend on shapes and type. `add_codecs` must add the
/// codecs of the array to a ChainBuilder.
template <typename AddCodecs>
Status Complete(const Json& fill, const AddCodecs& add_codecs,
                ArrayPlan& plan) {
  CTXFS_TRY(SetSize(plan));
  plan.fill = CTXFS_TRY(FillElement(plan.type, fill));
  plan.fill_value = fill;
  ChainBuilder builder(plan.type, plan.fill, plan.chunk);
  CTXFS_TRY(add_codecs(builder));
  plan.chain = CTXFS_TRY(std::move(builder).Build());
  return CheckChunkBytes(plan.chain);
}

/// Sets the type of v2 elements. For "|O", the first filter decides it.
Status SetType(const Json& root, ArrayPlan& plan) {
  const Json dtype = JsonAt(root, "dtype");
  if (dtype.is_null()) return Wrong("dtype: there is none");
  plan.type = CTXFS_TRY(TypeOfV2(dtype));
  if (plan.type.kind != ElementType::Kind::kUnknown) return {};
  const Json filters = JsonAt(root, "filters");
  if (dtype == "|O" && filters.is_array() && !filters.empty()) {
    const std::string id = TextAt(filters.front(), "id");
    if (id != "vlen-utf8" && id != "vlen-bytes") {
      return NotRead("objects of codec " + Quote(id) + " are not decoded");
    }
    plan.type.kind = id == "vlen-utf8" ? ElementType::Kind::kText
                                       : ElementType::Kind::kBinary;
    return {};
  }
  return NotRead("elements of dtype " + Quote(plan.type.name) +
                 " are not read");
}

Status AddOrder(const Json& root, size_t rank, ChainBuilder& builder) {
  const std::string order = TextAt(root, "order");
  if (!order.empty() && order != "C" && order != "F") {
    return Wrong("order: it is neither C nor F");
  }
  if (order != "F" || rank < 2) return {};
  Json reversed = Json::array();
  for (size_t i = rank; i-- > 0;) reversed.push_back(i);
  return builder.Add("transpose", {{"order", std::move(reversed)}});
}

Status AddV2Codec(const Json& codec, ChainBuilder& builder) {
  const std::string id = TextAt(codec, "id");
  if (id.empty()) return Wrong("codecs: one has no id");
  if (!IsArrayFilter(id)) CTXFS_TRY(builder.EndArray());
  return builder.Add("numcodecs." + id, codec);
}

Status AddV2Codecs(const Json& root, ChainBuilder& builder) {
  const Json filters = JsonAt(root, "filters");
  if (!filters.is_null() && !filters.is_array()) {
    return Wrong("codecs: filters are no list");
  }
  for (const Json& filter : filters) CTXFS_TRY(AddV2Codec(filter, builder));
  CTXFS_TRY(builder.EndArray());
  const Json compressor = JsonAt(root, "compressor");
  return compressor.is_null() ? Status() : AddV2Codec(compressor, builder);
}

/// Fails for an unknown member of v3 metadata, unless it states that readers
/// need not understand it.
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
    if (JsonAt(value, "must_understand") != false) {
      return NotRead("the extension " + Quote(key) + " is unknown");
    }
  }
  if (JsonAt(root, "storage_transformers").empty()) return {};
  return NotRead("storage transformers are not read");
}

/// The name of a part of v3 metadata: a text, or its member "name".
std::string NameOf(const Json& part) {
  return part.is_string() ? part.get<std::string>() : TextAt(part, "name");
}

Status SetKeys(const Json& encoding, ArrayPlan& plan) {
  const std::string name = NameOf(encoding);
  if (name != "default" && name != "v2") {
    return NotRead("the chunk_key_encoding " + Quote(name) + " is unknown");
  }
  const bool v2 = name == "v2";
  std::string separator =
      TextAt(JsonAt(encoding, "configuration"), "separator");
  if (separator.empty()) separator = v2 ? "." : "/";
  if (separator != "." && separator != "/") {
    return Wrong("chunk_key_encoding: its separator is neither '.' nor '/'");
  }
  plan.key_start = v2 ? "" : "c";
  plan.separator = separator[0];
  return {};
}

Status SetDimensionNames(const Json& root, ArrayPlan& plan) {
  plan.dimension_names = JsonAt(root, "dimension_names");
  const Json& names = plan.dimension_names;
  if (names.is_null()) return {};
  if (names.is_array() && names.size() == plan.shape.size()) return {};
  return Wrong("dimension_names: they are not one for each dimension");
}

/// The number of boxes of an array times the weight of each.
uint64_t WeightOf(const Indices& shape, const Indices& box, uint64_t each) {
  uint64_t weight = each;
  for (size_t i = 0; i < shape.size(); ++i) {
    weight =
        CheckedMul(weight, ChunksIn(shape[i], box[i])).value_or(UINT64_MAX);
  }
  return weight;
}

}  // namespace

uint64_t ArrayPlan::Weight() const {
  const Indices* inner = &chunk;
  for (const Sharding* at = chain.shards.get(); at != nullptr;
       at = at->inner.shards.get()) {
    inner = &at->chunk;
  }
  return std::max({size, WeightOf(shape, chunk, kChunkWeight),
                   WeightOf(shape, *inner, kInnerChunkWeight)});
}

std::string ArrayPlan::KeyOf(const Indices& chunk_index) const {
  std::string key = key_start;
  for (const uint64_t number : chunk_index) {
    if (!key.empty()) key += separator;
    key += std::to_string(number);
  }
  return key.empty() ? "0" : key;
}

Result<ArrayPlan> PlanOfV2(const Json& root) {
  ArrayPlan plan;
  plan.version = 2;
  CTXFS_TRY(SetShapes(JsonAt(root, "shape"), JsonAt(root, "chunks"), plan));
  const std::string separator = TextAt(root, "dimension_separator");
  plan.separator_guessed = separator.empty();
  plan.separator = separator == "/" ? '/' : '.';
  CTXFS_TRY(SetType(root, plan));
  const auto add_codecs = [&](ChainBuilder& builder) -> Status {
    CTXFS_TRY(AddOrder(root, plan.shape.size(), builder));
    return AddV2Codecs(root, builder);
  };
  CTXFS_TRY(Complete(JsonAt(root, "fill_value"), add_codecs, plan));
  return plan;
}

Result<ArrayPlan> PlanOfV3(const Json& root) {
  ArrayPlan plan;
  CTXFS_TRY(CheckMembers(root));
  const Json grid = JsonAt(root, "chunk_grid");
  if (const std::string name = NameOf(grid); name != "regular") {
    return NotRead("the chunk_grid " + Quote(name) + " is not read");
  }
  CTXFS_TRY(SetShapes(JsonAt(root, "shape"),
                      JsonAt(JsonAt(grid, "configuration"), "chunk_shape"),
                      plan));
  CTXFS_TRY(SetKeys(JsonAt(root, "chunk_key_encoding"), plan));
  CTXFS_TRY(SetDimensionNames(root, plan));
  plan.type = CTXFS_TRY(TypeOfV3(JsonAt(root, "data_type")));
  if (plan.type.kind == ElementType::Kind::kUnknown) {
    return NotRead("elements of data_type " + Quote(plan.type.name) +
                   " are not read");
  }
  const Json* const fill = MemberAt(root, "fill_value");
  if (fill == nullptr) return Wrong("fill_value: there is none");
  const auto add_codecs = [&root](ChainBuilder& builder) {
    return builder.AddAll(MemberAt(root, "codecs"));
  };
  CTXFS_TRY(Complete(*fill, add_codecs, plan));
  return plan;
}

}  // namespace ctxfs::zarr
