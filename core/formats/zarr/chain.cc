// SPDX-License-Identifier: Apache-2.0
#include "core/formats/zarr/chain.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/text/text.h"
#include "core/container/elements.h"
#include "core/formats/zarr/limits.h"

namespace ctxfs::zarr {
namespace {

constexpr std::string_view kNumcodecs = "numcodecs.";

Error Bad(const std::string& text) {
  return {Code::kCorrupt, "codecs: " + text};
}

Error UnreadIndex() {
  return {Code::kUnsupported,
          "the index of a shard has codecs other than bytes and crc32c"};
}

Error Unread(std::string_view name) {
  return {Code::kUnsupported,
          "codec " + Quote(name) + " is not decoded by this version"};
}

bool AnyChecks(const std::vector<Step>& steps) {
  return std::ranges::any_of(steps, &Step::checks);
}

Json ConfigurationOf(const Json& codec) {
  const Json* const configuration = MemberAt(codec, "configuration");
  return configuration == nullptr ? Json() : *configuration;
}

}  // namespace

bool IsArrayFilter(std::string_view name) {
  constexpr std::string_view kFilters[] = {"delta",    "fixedscaleoffset",
                                           "quantize", "bitround",
                                           "packbits", "astype"};
  return std::ranges::find(kFilters, name) != std::end(kFilters);
}

bool Chain::checks() const {
  return AnyChecks(byte_steps) || (shards != nullptr && shards->inner.checks());
}

ChainBuilder::ChainBuilder(const ElementType& type, std::vector<uint64_t> shape,
                           size_t level)
    : type_(type),
      shape_(std::move(shape)),
      level_(level),
      current_shape_(shape_),
      number_{type.dtype, type.big},
      count_(ElementsOf(shape_)),
      width_(type.size),
      unit_(type.unit) {
  if (!type.lines()) bytes_ = CheckedMul(count_, width_);
  chain_.size = bytes_;
  if (type.big && unit_ > 1) AddSwap();
}

void ChainBuilder::AddSwap() {
  Step step;
  step.decoded = bytes_;
  step.unit = unit_;
  chain_.array_steps.push_back(std::move(step));
}

Status ChainBuilder::Add(const std::string& name, const Json& configuration) {
  if (chain_.names.size() == kMaxCodecs) {
    return OverLimit("codecs of a chain are", kMaxCodecs);
  }
  const bool numcodec = name.starts_with(kNumcodecs);
  const std::string plain = numcodec ? name.substr(kNumcodecs.size()) : name;
  chain_.names.push_back(plain);
  if (plain == "transpose" && !numcodec) return AddTranspose(configuration);
  if (plain == "bytes" && !numcodec) return AddBytes(configuration);
  if (plain == "sharding_indexed" && !numcodec) return AddShards(configuration);
  if (plain == "vlen-utf8" || plain == "vlen-bytes") {
    const bool text = plain == "vlen-utf8";
    if (!is_array_ || !type_.lines() ||
        text != (type_.kind == ElementType::Kind::kText)) {
      return Bad(plain + " does not follow texts");
    }
    is_array_ = false;
    return {};
  }
  if (IsArrayFilter(plain)) return AddFilter(plain, configuration);
  return AddBytesCodec(plain, configuration);
}

Status ChainBuilder::AddAll(const Json& codecs) {
  if (!codecs.is_array()) return Bad("they are no list");
  for (const Json& codec : codecs) {
    const std::string name =
        codec.is_string() ? codec.get<std::string>() : TextAt(codec, "name");
    if (name.empty()) return Bad("one has no name");
    CTXFS_TRY(Add(name, ConfigurationOf(codec)));
  }
  return {};
}

Status ChainBuilder::EndArray() {
  if (!is_array_) return {};
  if (type_.lines()) return Bad("texts need vlen-utf8 or vlen-bytes");
  is_array_ = false;
  return {};
}

Result<Chain> ChainBuilder::Build() && {
  if (is_array_) return Bad("none makes bytes of the elements");
  chain_.stored = bytes_;
  return std::move(chain_);
}

Status ChainBuilder::AddFilter(std::string_view name,
                               const Json& configuration) {
  if (!is_array_) return Bad(std::string(name) + " follows bytes");
  if (type_.kind != ElementType::Kind::kNumber) {
    return Bad(std::string(name) + " follows elements that are no numbers");
  }
  if (name == "bitround") return {};
  if (name == "packbits") return AddPackBits();
  if (name == "delta") return AddDelta(configuration);
  if (name == "fixedscaleoffset") return AddScale(configuration);
  if (name == "quantize") return AddConvert("astype", "dtype", configuration);
  return AddConvert("encode_dtype", "decode_dtype", configuration);
}

Status ChainBuilder::AddTranspose(const Json& configuration) {
  if (!is_array_) return Bad("transpose follows bytes");
  const Json* const order = MemberAt(configuration, "order");
  const size_t rank = current_shape_.size();
  if (order == nullptr || !order->is_array() || order->size() != rank) {
    return Bad("the order of transpose is no permutation");
  }
  Step step;
  step.kind = StepKind::kTranspose;
  step.decoded = bytes_;
  step.unit = width_;
  step.shape = current_shape_;
  std::vector<bool> seen(rank);
  for (const Json& one : *order) {
    const uint64_t at =
        one.is_number_unsigned() ? one.get<uint64_t>() : UINT64_MAX;
    if (at >= rank || seen[at]) {
      return Bad("the order of transpose is no permutation");
    }
    seen[at] = true;
    step.order.push_back(at);
  }
  for (size_t i = 0; i < rank; ++i) {
    current_shape_[i] = step.shape[step.order[i]];
  }
  if (std::ranges::is_sorted(step.order)) return {};
  if (type_.lines() && !chain_.array_steps.empty()) {
    return Unread("transpose, twice, of texts");
  }
  chain_.array_steps.push_back(std::move(step));
  return {};
}

Result<FilterNumber> ChainBuilder::NumberAt(
    const Json& configuration, const char* key,
    const FilterNumber& otherwise) const {
  const Json* const name = MemberAt(configuration, key);
  if (name == nullptr || name->is_null()) return otherwise;
  const auto type =
      name->is_string() ? NumberType(name->get<std::string>()) : std::nullopt;
  if (!type || IsComplex(type->dtype)) {
    return Bad(std::string(key) + " of a filter is no type of numbers");
  }
  return FilterNumber{type->dtype, type->big};
}

Status ChainBuilder::Replace(Step step) {
  if (DTypeSize(step.shown.dtype) != width_) {
    return Bad("a filter decodes to elements of another size");
  }
  step.decoded = bytes_;
  number_ = step.stored;
  width_ = DTypeSize(number_.dtype);
  unit_ = width_;
  bytes_ = CheckedMul(count_, width_);
  chain_.array_steps.push_back(std::move(step));
  return {};
}

Status ChainBuilder::AddDelta(const Json& configuration) {
  Step step;
  step.kind = StepKind::kDelta;
  step.shown = CTXFS_TRY(NumberAt(configuration, "dtype", number_));
  step.stored = CTXFS_TRY(NumberAt(configuration, "astype", step.shown));
  return Replace(std::move(step));
}

Status ChainBuilder::AddScale(const Json& configuration) {
  Step step;
  step.kind = StepKind::kScale;
  step.shown = CTXFS_TRY(NumberAt(configuration, "dtype", number_));
  step.stored = CTXFS_TRY(NumberAt(configuration, "astype", step.shown));
  const Json* const scale = MemberAt(configuration, "scale");
  const Json* const offset = MemberAt(configuration, "offset");
  if (scale == nullptr || offset == nullptr || !scale->is_number() ||
      !offset->is_number()) {
    return Bad("fixedscaleoffset has no scale or no offset");
  }
  step.scale = scale->get<double>();
  step.offset = offset->get<double>();
  return Replace(std::move(step));
}

Status ChainBuilder::AddConvert(const char* stored, const char* shown,
                                const Json& configuration) {
  Step step;
  step.kind = StepKind::kConvert;
  step.shown = CTXFS_TRY(NumberAt(configuration, shown, number_));
  step.stored = CTXFS_TRY(NumberAt(configuration, stored, step.shown));
  return Replace(std::move(step));
}

Status ChainBuilder::AddPackBits() {
  if (number_.dtype != DType::kBool) return Bad("packbits follows no booleans");
  Step step;
  step.kind = StepKind::kPackBits;
  step.decoded = bytes_;
  count_ = count_ / 8 + (count_ % 8 == 0 ? 0 : 1) + 1;
  bytes_ = count_;
  number_ = {DType::kU8, false};
  chain_.array_steps.push_back(std::move(step));
  current_shape_ = {count_};
  return {};
}

Status ChainBuilder::AddBytes(const Json& configuration) {
  if (!is_array_) return Bad("bytes follows bytes");
  if (type_.lines()) return Bad("texts need vlen-utf8 or vlen-bytes");
  const std::string endian = TextAt(configuration, "endian");
  if (!endian.empty() && endian != "little" && endian != "big") {
    return Bad("endian is neither little nor big");
  }
  is_array_ = false;
  if (endian == "big" && unit_ > 1) AddSwap();
  return {};
}

Status ChainBuilder::AddShards(const Json& configuration) {
  if (!is_array_ || chain_.shards != nullptr) {
    return Bad("sharding_indexed follows bytes");
  }
  if (type_.lines()) return Unread("sharding_indexed of texts");
  if (level_ == kMaxShardLevels) {
    return OverLimit("shards within shards are", kMaxShardLevels);
  }
  for (const Step& step : chain_.array_steps) {
    if (step.kind != StepKind::kTranspose) {
      return Unread("sharding_indexed of filtered elements");
    }
  }
  is_array_ = false;
  auto shards = std::make_shared<Sharding>();
  const Json* const shape = MemberAt(configuration, "chunk_shape");
  const size_t rank = current_shape_.size();
  if (shape == nullptr || !shape->is_array() || shape->size() != rank) {
    return Error{Code::kCorrupt, "rank: that of inner chunks is another"};
  }
  for (size_t i = 0; i < rank; ++i) {
    const Json& one = (*shape)[i];
    const uint64_t extent = one.is_number_unsigned() ? one.get<uint64_t>() : 0;
    if (extent == 0 || current_shape_[i] % extent != 0) {
      return Error{Code::kCorrupt,
                   "chunk_shape: inner chunks do not divide a shard"};
    }
    shards->chunk.push_back(extent);
    shards->counts.push_back(current_shape_[i] / extent);
    // Cannot wrap: neither factor is over 2^24 before it.
    if (shards->counts.back() > kMaxInnerChunks ||
        (shards->count *= shards->counts.back()) > kMaxInnerChunks) {
      return OverLimit("chunks of a shard are", kMaxInnerChunks);
    }
  }
  CTXFS_TRY(SetIndex(configuration, *shards));
  ElementType inner = type_;
  inner.dtype = number_.dtype;
  inner.size = width_;
  inner.unit = static_cast<uint32_t>(unit_);
  ChainBuilder builder(inner, shards->chunk, level_ + 1);
  const Json* const codecs = MemberAt(configuration, "codecs");
  CTXFS_TRY(builder.AddAll(codecs == nullptr ? Json() : *codecs));
  shards->inner = CTXFS_TRY(std::move(builder).Build());
  chain_.shards = std::move(shards);
  bytes_.reset();
  return {};
}

Status ChainBuilder::SetIndex(const Json& configuration,
                              Sharding& shards) const {
  const std::string location = TextAt(configuration, "index_location");
  if (!location.empty() && location != "start" && location != "end") {
    return Bad("index_location is neither start nor end");
  }
  shards.index_at_start = location == "start";
  const Json* const codecs = MemberAt(configuration, "index_codecs");
  if (codecs == nullptr) return Bad("there are no index_codecs");
  ElementType number;
  number.kind = ElementType::Kind::kNumber;
  number.dtype = DType::kU64;
  number.size = number.unit = sizeof(uint64_t);
  ChainBuilder builder(number, {2 * shards.count}, kMaxShardLevels);
  CTXFS_TRY(builder.AddAll(*codecs));
  const Chain chain = CTXFS_TRY(std::move(builder).Build());
  for (const Step& step : chain.array_steps) {
    if (step.kind != StepKind::kSwap) return UnreadIndex();
    shards.index_is_big = true;
  }
  for (const Step& step : chain.byte_steps) {
    if (step.kind != StepKind::kCrc32c || shards.index_has_crc) {
      return UnreadIndex();
    }
    shards.index_has_crc = true;
  }
  return {};
}

void ChainBuilder::AddCompressor(StepKind kind, bool checks) {
  Step step;
  step.kind = kind;
  step.decoded = std::exchange(bytes_, std::nullopt);
  step.checks = checks;
  chain_.byte_steps.push_back(std::move(step));
}

Status ChainBuilder::AddShuffle(const Json& configuration) {
  Step step;
  step.kind = StepKind::kShuffle;
  step.decoded = bytes_;
  step.unit = CountAt(configuration, "elementsize").value_or(4);
  if (step.unit == 0) return Bad("shuffle has elements of no bytes");
  chain_.byte_steps.push_back(std::move(step));
  return {};
}

Status ChainBuilder::AddChecksum(StepKind kind, bool at_start,
                                 const Json& configuration) {
  const std::string location = TextAt(configuration, "location");
  if (!location.empty() && location != "start" && location != "end") {
    return Bad("the location of a checksum is neither start nor end");
  }
  Step step;
  step.kind = kind;
  step.decoded = bytes_;
  step.checks = true;
  step.at_start = location.empty() ? at_start : location == "start";
  chain_.byte_steps.push_back(std::move(step));
  if (bytes_) bytes_ = CheckedAdd(*bytes_, sizeof(uint32_t));
  return {};
}

Status ChainBuilder::AddBytesCodec(std::string_view name,
                                   const Json& configuration) {
  struct Compressor {
    std::string_view name;
    StepKind kind;
    bool checks;
  };
  static constexpr Compressor kCompressors[] = {
      {"gzip", StepKind::kGzip, true}, {"zlib", StepKind::kZlib, true},
      {"bz2", StepKind::kBzip2, true}, {"lzma", StepKind::kXz, true},
      {"lz4", StepKind::kLz4, false},  {"blosc", StepKind::kBlosc, false}};
  struct Sum {
    std::string_view name;
    StepKind kind;
    bool at_start;
  };
  static constexpr Sum kSums[] = {{"crc32c", StepKind::kCrc32c, false},
                                  {"crc32", StepKind::kCrc32, true},
                                  {"adler32", StepKind::kAdler32, true},
                                  {"fletcher32", StepKind::kFletcher32, false}};
  const auto compressor =
      std::ranges::find(kCompressors, name, &Compressor::name);
  const auto sum = std::ranges::find(kSums, name, &Sum::name);
  const bool known = compressor != std::end(kCompressors) ||
                     sum != std::end(kSums) || name == "zstd" ||
                     name == "shuffle";
  if (!known) return Unread(name);
  if (is_array_) return Bad(std::string(name) + " follows no bytes");
  if (name == "lzma" && CountAt(configuration, "format").value_or(1) != 1) {
    return Unread("lzma in a format other than xz");
  }
  if (sum != std::end(kSums)) {
    return AddChecksum(sum->kind, sum->at_start, configuration);
  }
  if (name == "shuffle") return AddShuffle(configuration);
  if (name == "zstd") {
    const Json* const checksum = MemberAt(configuration, "checksum");
    AddCompressor(StepKind::kZstd, checksum != nullptr && *checksum == true);
  } else {
    AddCompressor(compressor->kind, compressor->checks);
  }
  return {};
}

}  // namespace ctxfs::zarr
