// SPDX-License-Identifier: Apache-2.0
//
// Parses the two binary sections of MCF that describe the model: ModelInfo
// (docs/formats/mcf.md, section 9) and QuantInfo (section 8).
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <string>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/formats/mcf/limits.h"
#include "core/formats/mcf/mcf.h"

namespace ctxfs::mcf {
namespace {

// Sizes and offsets in the section ModelInfo.
constexpr uint64_t kInfoSize = 88;
constexpr uint64_t kPairSize = 24;
constexpr uint64_t kFlagsAt = 4;
constexpr uint64_t kModelNameAt = 56;
constexpr uint64_t kBaseModelAt = 64;
constexpr uint64_t kPairsAt = 80;
enum PairType : uint32_t { kU32 = 1, kF32 = 2, kBlob = 3 };

// Sizes in the section QuantInfo.
constexpr uint64_t kQuantHeaderSize = 8;
constexpr uint64_t kRecordSize = 24;

Json NameOf(std::span<const char* const> names, uint32_t number) {
  return number < names.size() ? names[number] : "unknown";
}

/// Reads values and texts at offsets in a ModelInfo section.
class InfoReader {
 public:
  explicit InfoReader(Bytes section) : section_(section) {}

  Result<uint32_t> U32At(uint64_t offset) const {
    if (!InBounds(offset, sizeof(uint32_t), section_.size())) {
      return Error{Code::kCorrupt, "an offset is outside the section", offset};
    }
    return LoadLe<uint32_t>(section_.data() + offset);
  }

  /// Reads a length and as many bytes. Offsets can repeat, so a single limit
  /// covers the bytes of all calls.
  Result<std::string> BlobAt(uint64_t offset) {
    const uint32_t length = CTXFS_TRY(U32At(offset));
    const uint64_t start = offset + sizeof(uint32_t);
    if (!InBounds(start, length, section_.size())) {
      return Error{Code::kCorrupt, "a text runs past the section's end",
                   offset};
    }
    taken_ += length;
    if (taken_ > kMaxModelInfoBytes) {
      return Error{
          Code::kLimit,
          fmt::format("its texts take more than {} bytes", kMaxModelInfoBytes),
          offset};
    }
    return std::string(AsText(section_.subspan(start, length)));
  }

 private:
  Bytes section_;
  uint64_t taken_ = 0;
};

Result<Json> PairValue(InfoReader& reader, uint32_t type, uint64_t offset) {
  if (type == kBlob) {
    if (offset == 0) return Json{{"string", ""}};
    std::string blob = CTXFS_TRY(reader.BlobAt(offset));
    if (IsUtf8(blob)) return Json{{"string", std::move(blob)}};
    return Json{{"bytes_hex", Hex(blob)}};
  }
  const uint32_t word = CTXFS_TRY(reader.U32At(offset));
  if (type == kU32) return Json{{"u32", word}};
  return Json{{"f32", FloatJson(std::bit_cast<float>(word))}};
}

Result<Json> ParsePairs(Bytes section, InfoReader& reader, uint32_t count,
                        uint64_t offset, const Request& request) {
  Json pairs = Json::object();
  if (count == 0) return pairs;
  if (offset == 0 || !InBounds(offset, kPairSize * count, section.size())) {
    return Error{
        Code::kCorrupt,
        fmt::format("the table of {} pairs is outside the section", count),
        kPairsAt};
  }
  ByteReader in(section.subspan(offset), offset);
  for (uint32_t i = 0; i < count; ++i) {
    CTXFS_TRY(request.CheckMemory());
    const uint64_t at = in.offset();
    const uint64_t key_offset = in.U64();
    const uint32_t type = in.U32();
    in.Skip(4);
    const uint64_t value_offset = in.U64();
    std::string key = CTXFS_TRY(reader.BlobAt(key_offset));
    if (key.empty()) return Error{Code::kCorrupt, "a key is empty", at};
    if (type < kU32 || type > kBlob) {
      return Error{Code::kCorrupt,
                   fmt::format("the value of {} has type {}: expected 1 to 3",
                               Quote(key), type),
                   at};
    }
    Json value = CTXFS_TRY(PairValue(reader, type, value_offset));
    pairs.emplace(std::move(key), std::move(value));
  }
  return pairs;
}

/// Whether the combination of method, domain and sizes is defined.
bool IsKnown(const McfQuantRecord& record) {
  const bool blocks = record.method >= kMcfFirstWithBlocks;
  const bool supers = record.method >= kMcfFirstWithSupers;
  return IsMcfQuantised(record.method) && record.domain <= (blocks ? 0 : 1) &&
         record.block_size == (blocks ? 32 : 0) &&
         record.super_size == (supers ? 256 : 0);
}

/// Returns a clip; as a string if it is not finite, because JSON has no such
/// numbers.
Json ClipJson(float clip) {
  if (std::isnan(clip)) return "NaN";
  if (std::isinf(clip)) return clip > 0 ? "+Inf" : "-Inf";
  return FloatJson(clip);
}

}  // namespace

Result<Json> ParseMcfModelInfo(Bytes section, const Request& request) {
  static constexpr const char* kArchitectures[] = {
      "unknown", "LLaMA", "Mistral", "Qwen", "Gemma", "Granite", "SmolLM3"};
  static constexpr const char* kRopeTypes[] = {"none", "standard", "linear",
                                               "yarn"};
  if (section.size() < kInfoSize) {
    return Error{Code::kCorrupt, "it is shorter than its 88 bytes of fields",
                 0};
  }
  ByteReader in(section);
  const uint32_t version = in.U32();
  const uint32_t flags = in.U32();
  if (version != 1) {
    return Error{Code::kCorrupt,
                 fmt::format("its version is {}, not 1", version), 0};
  }
  if (flags != 0) {
    return Error{Code::kCorrupt, fmt::format("its flags are {}, not 0", flags),
                 kFlagsAt};
  }
  Json info = Json::object();
  const uint32_t arch = in.U32();
  info["arch"] = arch;
  info["arch_name"] = NameOf(kArchitectures, arch);
  in.Skip(4);
  for (const char* field :
       {"vocab_size", "hidden_size", "layer_count", "head_count",
        "head_count_kv", "context_length", "train_context"}) {
    info[field] = in.U32();
  }
  const uint32_t rope_type = in.U32();
  info["rope_type"] = rope_type;
  info["rope_type_name"] = NameOf(kRopeTypes, rope_type);
  info["rope_freq_base"] = FloatJson(std::bit_cast<float>(in.U32()));
  info["rope_scale"] = FloatJson(std::bit_cast<float>(in.U32()));

  InfoReader reader(section);
  for (const auto& [field, at] : {std::pair{"model_name", kModelNameAt},
                                  std::pair{"base_model", kBaseModelAt}}) {
    const auto offset = LoadLe<uint64_t>(section.data() + at);
    std::string text =
        CTXFS_TRY(offset == 0 ? Result<std::string>(std::string())
                              : reader.BlobAt(offset));
    if (!IsUtf8(text)) info[std::string(field) + "_hex"] = Hex(text);
    info[field] = std::move(text);
  }
  in.Skip(16);
  const uint32_t pair_count = in.U32();
  in.Skip(4);
  info["extras"] =
      CTXFS_TRY(ParsePairs(section, reader, pair_count, in.U64(), request));
  return info;
}

Result<std::vector<McfQuantRecord>> ParseMcfQuantInfo(Bytes section) {
  ByteReader in(section);
  const uint32_t version = in.U32();
  const uint32_t count = in.U32();
  if (!in.ok()) {
    return Error{Code::kCorrupt, "it ends within its header of 8 bytes", 0};
  }
  if (version != 1) {
    return Error{Code::kCorrupt,
                 fmt::format("its version is {}, not 1", version), 0};
  }
  if (!InBounds(kQuantHeaderSize, kRecordSize * count, section.size())) {
    return Error{Code::kCorrupt,
                 fmt::format("{} records run past its end", count), 4};
  }
  CTXFS_TRY(HeapAllowance::Admit(count * sizeof(McfQuantRecord)));
  std::vector<McfQuantRecord> records(count);
  for (McfQuantRecord& record : records) {
    const uint64_t at = in.offset();
    record.tensor_index = in.U32();
    record.method = in.U8();
    record.domain = in.U8();
    record.block_size = in.U16();
    record.super_size = in.U16();
    uint32_t reserved = in.U16();
    reserved |= in.U32();
    record.min_clip = std::bit_cast<float>(in.U32());
    record.max_clip = std::bit_cast<float>(in.U32());
    if (reserved != 0 || !IsKnown(record)) {
      return Error{Code::kCorrupt,
                   fmt::format("the record of tensor {} has a combination of "
                               "method, domain and sizes that is not defined",
                               record.tensor_index),
                   at};
    }
  }
  return records;
}

Json McfQuantRecordJson(const McfQuantRecord& record) {
  return {{"tensor_index", record.tensor_index},
          {"method", record.method},
          {"method_name", McfDTypeName(record.method)},
          {"domain", record.domain},
          {"block_size", record.block_size},
          {"super_size", record.super_size},
          {"min_clip", ClipJson(record.min_clip)},
          {"max_clip", ClipJson(record.max_clip)}};
}

}  // namespace ctxfs::mcf
