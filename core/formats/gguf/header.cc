// SPDX-License-Identifier: Apache-2.0
//
// The header of a GGUF file (docs/formats/gguf.md, sections 1 to 5):
//
//   magic, version, tensor count, pair count
//   pairs     key, type of value, value
//   records   name, dimensions, type, offset of the data
//   padding   to the alignment; then the data
#include "core/formats/gguf/header.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/heap/heap_allowance.h"
#include "core/base/text/text.h"
#include "core/formats/gguf/limits.h"

namespace ctxfs::gguf {
namespace {

constexpr uint64_t kMagicBytes = 4;
constexpr uint32_t kNewestVersion = 3;
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr uint32_t kDefaultAlignment = 32;
constexpr uint32_t kMaxRank = 4;
constexpr uint64_t kItemsPerCheck = 65'536;

class HeaderParser {
 public:
  HeaderParser(const Source& source, const GgufHeader& header, bool salvage,
               const ReadContext& context)
      : source_(source),
        context_(context),
        salvage_(salvage),
        header_(header),
        in_(source, header.layout, kMagicBytes + sizeof(uint32_t), context) {}

  Result<GgufHeader> Parse() {
    const uint64_t tensors = in_.Count();
    const uint64_t pairs = in_.Count();
    if (!in_.ok()) return in_.error();
    CTXFS_TRY(CheckCounts(tensors, pairs));
    for (uint64_t i = 0; i < pairs; ++i) {
      CTXFS_TRY(ReadPair());
    }
    CTXFS_TRY(DropRepeatedKeys());
    ReadAlignment();
    for (uint64_t i = 0; i < tensors; ++i) {
      CTXFS_TRY(ReadTensor());
    }
    CTXFS_TRY(FindRepeatedNames());
    header_.end = in_.at();
    return std::move(header_);
  }

 private:
  Status CheckCounts(uint64_t tensors, uint64_t pairs) {
    const uint64_t at = kMagicBytes + sizeof(uint32_t);
    const uint64_t counts = header_.layout.count_bytes();
    // Sizes of the smallest pair and the smallest record.
    const uint64_t pair_bytes = counts + 4 + 1;
    const uint64_t record_bytes = counts + 4 + 4 + 8;
    if (pairs > in_.remaining() / pair_bytes ||
        tensors > (in_.remaining() - pairs * pair_bytes) / record_bytes) {
      return Error{Code::kCorrupt,
                   fmt::format("{} pairs and {} tensors do not fit: the file "
                               "ends within its header",
                               pairs, tensors),
                   at};
    }
    if (pairs > kMaxPairs || tensors > kMaxTensors) {
      return Error{
          Code::kLimit,
          fmt::format("{} pairs and {} tensors are over the limit of {} each",
                      pairs, tensors, kMaxPairs),
          at};
    }
    return {};
  }

  /// Adds a key or a name to `names`. Fails if all keys and names together are
  /// too long.
  Status ReadName(NameList& names) {
    const uint64_t start = in_.at();
    const uint64_t bytes = in_.Count();
    if (!in_.ok()) return in_.error();
    if (bytes > in_.remaining()) {
      return Error{
          Code::kCorrupt,
          fmt::format("a name of {} bytes: the file ends within its header",
                      bytes),
          start};
    }
    if (bytes >
        limits::kNameBytes - header_.keys.bytes() - header_.names.bytes()) {
      return Error{Code::kLimit,
                   fmt::format("keys and names take more than {} bytes",
                               limits::kNameBytes),
                   start};
    }
    name_.clear();
    in_.Append(bytes, name_);
    if (!in_.ok()) return in_.error();
    return names.Add(name_);
  }

  Status ReadPair() {
    GgufPair pair;
    const uint64_t at = in_.at();
    CTXFS_TRY(ReadName(header_.keys));
    pair.key = header_.keys.count() - 1;
    if (header_.keys[pair.key].empty()) {
      header_.AddFault(
          fmt::format("pair {} has an empty key", header_.pairs.size()), at);
    }
    pair.type = in_.U32();
    pair.value_at = in_.at();
    if (!in_.ok()) return in_.error();
    if (Status skipped = SkipValue(pair.type); !skipped) {
      Error error = std::move(skipped).error();
      error.what = fmt::format("pair {} {}: {}", header_.pairs.size(),
                               Quote(header_.keys[pair.key]), error.what);
      return error;
    }
    CTXFS_TRY(AdmitGrowth(header_.pairs));
    header_.pairs.push_back(pair);
    return {};
  }

  Status CountItem() {
    if (++items_ > kMaxWalkedItems) {
      return Error{
          Code::kLimit,
          fmt::format("the metadata has more than {} strings and arrays",
                      kMaxWalkedItems),
          in_.at()};
    }
    return items_ % kItemsPerCheck == 0 ? context_.Check() : Status();
  }

  struct Level {
    uint32_t type = 0;
    uint64_t left = 0;
  };

  Status SkipValue(uint32_t type) {
    // The pair's value is the only item of level 0, which has no count.
    std::array<Level, kMaxArrayDepth + 1> levels;
    size_t depth = 0;
    levels[0] = {type, 1};
    while (true) {
      if (levels[depth].left == 0) {
        if (depth == 0) return {};
        --depth;
        continue;
      }
      Level& level = levels[depth];
      if (level.type >= kGgufValueTypes) return WrongType(level.type);
      if (const uint64_t bytes = GgufValueBytes(level.type)) {
        if (level.left > in_.remaining() / bytes) return PastEnd(level);
        in_.Skip(level.left * bytes);
        level.left = 0;
        continue;
      }
      CTXFS_TRY(CountItem());
      --level.left;
      if (level.type == kGgufString) {
        in_.Skip(in_.Count());
        if (!in_.ok()) return in_.error();
        continue;
      }
      if (depth == kMaxArrayDepth) {
        return Error{
            Code::kCorrupt,
            fmt::format("arrays nested deeper than {}", kMaxArrayDepth),
            in_.at()};
      }
      CTXFS_TRY(OpenArray(levels[++depth]));
    }
  }

  Status OpenArray(Level& level) {
    level.type = in_.U32();
    level.left = in_.Count();
    if (!in_.ok()) return in_.error();
    if (level.type >= kGgufValueTypes) return WrongType(level.type);
    const uint64_t counts = header_.layout.count_bytes();
    const uint64_t least = level.type == kGgufString  ? counts
                           : level.type == kGgufArray ? 4 + counts
                                                      : 0;
    if (least > 0 && level.left > in_.remaining() / least) {
      return PastEnd(level);
    }
    return {};
  }

  Error WrongType(uint32_t type) const {
    return {Code::kCorrupt,
            fmt::format("a value has the unknown type {}, only 0 to 12 exist",
                        type),
            in_.at()};
  }

  Error PastEnd(const Level& level) const {
    return {Code::kCorrupt,
            fmt::format("{} values of type {}: the file ends within its header",
                        level.left, GgufValueTypeName(level.type)),
            in_.at()};
  }

  /// Drops each pair with the key of an earlier pair.
  Status DropRepeatedKeys() {
    const auto found = CTXFS_TRY(header_.keys.Sort());
    std::vector<bool> repeated(header_.pairs.size());
    for (const auto& [pair, earlier] : found) {
      repeated[pair] = true;
      header_.AddFault(fmt::format("pair {}: the key {} occurred before", pair,
                                   Quote(header_.keys[pair])),
                       header_.pairs[pair].value_at);
    }
    std::erase_if(header_.pairs, [&repeated](const GgufPair& pair) {
      return repeated[pair.key];
    });
    return {};
  }

  void ReadAlignment() {
    header_.alignment = kDefaultAlignment;
    const GgufPair* pair = header_.Find(kAlignmentKey);
    if (pair == nullptr) return;
    uint32_t value = 0;
    if (pair->type == kGgufUint32) {
      GgufReader in(source_, header_.layout, pair->value_at, context_,
                    GgufReader::kSmallWindow);
      value = in.U32();
    }
    if (value != 0 && (value & (value - 1)) == 0) {
      header_.alignment = value;
      return;
    }
    header_.AddFault(
        "general.alignment is not a power of two as a uint32: 32 is used",
        pair->value_at);
  }

  Status ReadTensor() {
    if (header_.tensors.size() % 4096 == 0) {
      CTXFS_TRY(context_.Check());
    }
    GgufTensor tensor;
    tensor.record_at = in_.at();
    CTXFS_TRY(ReadName(header_.names));
    CTXFS_TRY(AdmitGrowth(header_.tensors));
    header_.tensors.push_back(tensor);
    GgufTensor& record = header_.tensors.back();
    const uint32_t rank = in_.U32();
    if (!in_.ok()) return in_.error();
    CTXFS_TRY(ReadDims(record, rank));
    record.type = in_.U32();
    record.offset = in_.U64();
    if (!in_.ok()) return in_.error();
    return {};
  }

  Status ReadDims(GgufTensor& record, uint32_t rank) {
    const auto number = static_cast<uint32_t>(header_.tensors.size() - 1);
    if (rank > kMaxRank) {
      Error error{Code::kCorrupt,
                  fmt::format("{} has {} dimensions, more than 4",
                              header_.Label(number), rank),
                  record.record_at};
      if (rank > kMaxSalvagedRank || !salvage_) return error;
      header_.AddFault(std::move(error.what), error.offset);
    }
    if (header_.dims.size() + rank > kMaxDims) {
      return Error{
          Code::kLimit,
          fmt::format("the shapes have more than {} dimensions", kMaxDims),
          record.record_at};
    }
    CTXFS_TRY(AdmitGrowth(header_.dims, rank));
    record.rank = static_cast<uint8_t>(rank);
    record.dims_at = static_cast<uint32_t>(header_.dims.size());
    for (uint32_t i = 0; i < rank; ++i) {
      header_.dims.push_back(in_.Count());
      if (header_.dims.back() > INT64_MAX) {
        record.fault = GgufTensor::Fault::kDims;
      }
    }
    return {};
  }

  Status FindRepeatedNames() {
    const auto repeated = CTXFS_TRY(header_.names.Sort());
    for (const auto& [tensor, earlier] : repeated) {
      header_.AddFault(fmt::format("{} has the name of tensor {}",
                                   header_.Label(tensor), earlier),
                       header_.tensors[tensor].record_at);
    }
    return {};
  }

  const Source& source_;
  const ReadContext& context_;
  const bool salvage_;
  GgufHeader header_;
  GgufReader in_;
  std::string name_;
  uint64_t items_ = 0;
};

/// Reads the version, which determines byte order and width of all other
/// numbers.
Result<GgufHeader> ReadVersion(const Source& source, const Request& request) {
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(source, 0, std::min<uint64_t>(source.size(), kMagicBytes + 4),
                 "header", request));
  if (bytes.size() < kMagicBytes + 4) {
    return Error{Code::kCorrupt, "the file ends within its header",
                 source.size()};
  }
  GgufHeader header;
  header.version = LoadLe<uint32_t>(bytes.data() + kMagicBytes);
  if ((header.version & 0xFFFFU) == 0) {
    header.layout.big_endian = true;
    header.version = __builtin_bswap32(header.version);
  }
  if (header.version == 0 || header.version > kNewestVersion) {
    return Error{
        Code::kVersion,
        fmt::format("GGUF version {} is not supported, only 1 to 3 are",
                    header.version),
        kMagicBytes};
  }
  header.layout.narrow = header.version == 1;
  return header;
}

}  // namespace

const GgufPair* GgufHeader::Find(std::string_view key) const {
  const auto found = std::find_if(
      pairs.begin(), pairs.end(),
      [this, key](const GgufPair& pair) { return keys[pair.key] == key; });
  return found == pairs.end() ? nullptr : &*found;
}

std::vector<uint64_t> GgufHeader::Shape(const GgufTensor& tensor) const {
  const auto stored = std::span(dims).subspan(tensor.dims_at, tensor.rank);
  return {stored.rbegin(), stored.rend()};
}

std::string GgufHeader::Label(uint32_t tensor) const {
  return fmt::format("tensor {} {}", tensor, Quote(names[tensor]));
}

void GgufHeader::AddFault(std::string what, uint64_t offset) {
  if (fault_count++ < kMaxFaults) {
    faults.push_back({Code::kCorrupt, std::move(what), offset});
  }
}

const GgufType* GgufHeader::QuantOf(const GgufTensor& tensor) const {
  if (tensor.fault != GgufTensor::Fault::kNone) return nullptr;
  const GgufType* type = GgufQuantOf(tensor.type);
  const bool undefined =
      layout.big_endian && type != nullptr && !type->quant.halves;
  return undefined ? nullptr : type;
}

Result<GgufHeader> ReadGgufHeader(const Source& source, bool salvage,
                                  const ReadContext& context) {
  const GgufHeader version = CTXFS_TRY(ReadVersion(source, context));
  GgufHeader header =
      CTXFS_TRY(HeaderParser(source, version, salvage, context).Parse());
  // The data, from which offsets count, starts at a multiple of the alignment,
  // which is at most 2^31.
  const uint64_t mask = uint64_t{header.alignment} - 1;
  header.data_at = (header.end + mask) & ~mask;
  if (!header.tensors.empty() && header.data_at > source.size()) {
    return Error{
        Code::kCorrupt,
        fmt::format(
            "the data starts at {}, past the end of the file ({} bytes)",
            header.data_at, source.size()),
        header.end};
  }
  // CheckGgufLayout makes a list of all offsets, and after freeing it a list of
  // tensor numbers, which is smaller.
  CTXFS_TRY(HeapAllowance::Admit(header.tensors.size() * sizeof(uint64_t)));
  CheckGgufLayout(header, source.size());
  if (header.fault_count > 0 && !salvage) return header.faults.front();
  return header;
}

Maybe<int64_t> GgufInteger(const GgufHeader& header, const Source& source,
                           std::string_view key, uint32_t type,
                           const Request& request) {
  const std::optional<int64_t> none;
  const GgufPair* pair = header.Find(key);
  if (pair == nullptr || pair->type != type) return none;
  GgufReader in(source, header.layout, pair->value_at, request,
                GgufReader::kSmallWindow);
  int64_t value = 0;
  switch (type) {
    case kGgufUint16:
      value = in.U16();
      break;
    case kGgufUint32:
      value = in.U32();
      break;
    case kGgufInt32:
      value = static_cast<int32_t>(in.U32());
      break;
    default:
      return none;
  }
  if (!in.ok() && !in.error().Permanent()) return in.error();
  return in.ok() ? std::optional(value) : none;
}

}  // namespace ctxfs::gguf
