// SPDX-License-Identifier: Apache-2.0
//
// A .ctx file (docs/formats/megacontext.md, sections 2 and 3), little-endian:
//
//   0    u32 0x4D434354; some documents have the letters "MCCT" instead
//   4    u16 version, u16 level, u16 block size, u16 dimension, u16 dtype
//   14   layout A: u64 entries, char[32] model name, 10 reserved
//        layout B: char[32] model name, 18 reserved
//   64   the entries; no checksum, no trailer
#include "core/formats/megacontext/level.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/text/text.h"

namespace ctxfs::megacontext {
namespace {

constexpr uint64_t kHeaderSize = ContextLevel::kPayloadAt;
constexpr std::string_view kMagic = "TCCM";
constexpr std::string_view kLetters = "MCCT";
constexpr uint64_t kVersionAt = 4;
constexpr uint64_t kDimAt = 10;
constexpr uint64_t kDTypeAt = 12;
constexpr uint64_t kCountAt = 14;
constexpr uint64_t kAlignedCountAt = 16;
constexpr uint64_t kAlignedHeaderSize = 72;
constexpr size_t kNameAtA = 22;
constexpr size_t kNameAtB = 14;
constexpr size_t kReservedAtA = 54;
constexpr size_t kReservedAtB = 46;

struct DTypeInfo {
  DType dtype;
  const char* name;  // as spelled in the format's documents
};
constexpr std::array<DTypeInfo, 4> kDTypes = {{{DType::kU32, "uint32"},
                                               {DType::kF16, "fp16"},
                                               {DType::kBf16, "bf16"},
                                               {DType::kF32, "fp32"}}};

/// Returns the number of blocks of `block` entries, the last possibly short.
uint64_t BlocksOf(uint64_t entries, uint64_t block) {
  return entries / block + (entries % block != 0 ? 1 : 0);
}

bool IsZero(std::byte b) { return b == std::byte{0}; }

bool AllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), IsZero);
}

/// Returns the model name at `at`, up to the first NUL.
std::string NameAt(Bytes header, size_t at) {
  const std::string_view field = AsText(header.subspan(at, kNameSize));
  return std::string(field.substr(0, field.find('\0')));
}

/// Whether the header may have layout B: a printable name, NULs, then zeros.
bool LooksLikeB(Bytes header) {
  const std::string name = NameAt(header, kNameAtB);
  const auto speaks = [](char c) {
    return static_cast<unsigned char>(c) >= ' ' && c != 0x7F;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), speaks) &&
         AllZero(
             header.subspan(kNameAtB + name.size(), kNameSize - name.size())) &&
         AllZero(header.subspan(kReservedAtB));
}

/// Parses a header into the fields of `level`. `room`: bytes after the header.
class LevelReader {
 public:
  LevelReader(ContextLevel& level, Bytes header, uint64_t room)
      : level_(level), header_(header), room_(room) {}

  Status Read() {
    CTXFS_TRY(ReadFields());
    CTXFS_TRY(FindEntrySize());
    return FindCount();
  }

 private:
  Status ReadFields();
  Status FindEntrySize();
  Status FindCount();
  void CheckCount(uint64_t count, uint64_t held);
  bool IsAligned() const;
  void Warn(const std::string& text, bool odd = true) {
    level_.warnings.push_back(level_.file + ": " + text);
    level_.odd = level_.odd || odd;
  }

  ContextLevel& level_;
  Bytes header_;
  uint64_t room_;
};

Status LevelReader::ReadFields() {
  ContextHeader& header = level_.header;
  header.magic = AsText(header_).substr(0, kMagic.size());
  const bool letters = header.magic == kLetters;
  if (header.magic != kMagic && !letters) {
    return Error{Code::kCorrupt, "bad magic", 0};
  }
  ByteReader in(header_.subspan(kVersionAt), kVersionAt);
  header.version = in.U16();
  header.level = in.U16();
  header.block_size = in.U16();
  header.embedding_dim = in.U16();
  header.dtype_code = in.U16();
  constexpr uint16_t kVersion1Swapped = 0x0100;
  if (letters && header.version == kVersion1Swapped) {
    return Error{Code::kVersion, "big-endian header", kVersionAt};
  }
  if (header.version != 1) {
    return Error{Code::kVersion,
                 fmt::format("unsupported version {}", header.version),
                 kVersionAt};
  }
  return {};
}

Status LevelReader::FindEntrySize() {
  const ContextHeader& header = level_.header;
  if (header.dtype_code >= kDTypes.size()) {
    return Error{Code::kCorrupt,
                 fmt::format("unknown dtype {}", header.dtype_code), kDTypeAt};
  }
  level_.dtype = kDTypes[header.dtype_code].dtype;
  level_.vectors = level_.number != 0 || level_.dtype != DType::kU32;
  level_.entry_size = DTypeSize(level_.dtype);
  if (level_.vectors) level_.entry_size *= header.embedding_dim;
  if (level_.entry_size == 0) {
    return Error{Code::kCorrupt, "embedding_dim 0", kDimAt};
  }
  return {};
}

/// Whether the writer did not pack its C struct: the header then has 72 bytes,
/// and the payload is shifted by 8.
bool LevelReader::IsAligned() const {
  const Bytes bytes = header_;
  const auto count = LoadLe<uint64_t>(bytes.data() + kAlignedCountAt);
  constexpr uint64_t kMore = kAlignedHeaderSize - kHeaderSize;
  if (!AllZero(bytes.subspan(kCountAt, 2)) || count == 0 || room_ < kMore) {
    return false;
  }
  return CheckedMul(count, level_.entry_size) == room_ - kMore;
}

Status LevelReader::FindCount() {
  ContextHeader& header = level_.header;
  const uint64_t held = room_ / level_.entry_size;
  const auto count = LoadLe<uint64_t>(header_.data() + kCountAt);
  if (count > held && IsAligned()) {
    return Error{Code::kCorrupt, "aligned (unpacked) header", kCountAt};
  }
  if (count > held && LooksLikeB(header_)) {
    header.layout = 'B';
    header.model_name = NameAt(header_, kNameAtB);
    CheckCount(held, held);
  } else {
    header.num_entries = count;
    header.model_name = NameAt(header_, kNameAtA);
    if (!AllZero(header_.subspan(kReservedAtA))) {
      Warn("reserved bytes set", /*odd=*/false);
    }
    CheckCount(count, held);
  }
  if (header.level != level_.number) {
    Warn(fmt::format("header says level {}", header.level));
  }
  if (level_.number == 0 && level_.vectors) {
    Warn(std::string(kDTypes[header.dtype_code].name) + " in the token level");
  }
  if (level_.number != 0 && level_.dtype == DType::kU32) {
    Warn("uint32 in a gist level");
  }
  if (header.block_size == 0) Warn("block_size 0, no block view");
  return {};
}

void LevelReader::CheckCount(uint64_t count, uint64_t held) {
  level_.entries = std::min(count, held);
  if (count > held) {
    Warn(fmt::format("header says {} entries, file holds {}", count, held));
  } else if (count == 0 && held > 0) {
    level_.entries = held;
    Warn("num_entries 0, count taken from the file size");
  }
  level_.tail = room_ - level_.payload_size();
  if (level_.tail > 0 && count <= held) {
    Warn(fmt::format("{} bytes after the last entry", level_.tail));
  }
  const uint64_t block = level_.header.block_size;
  if (!level_.vectors && block > 1 && count < held && count > 0 &&
      count == BlocksOf(held, block)) {
    Warn("num_entries looks like a block count");
  }
}

/// Reads the level from its source. `numbered`: the file's name has a number.
Status ReadLevel(ContextLevel& level, bool numbered, const Request& request) {
  const uint64_t size = level.source->size();
  if (size < kHeaderSize) {
    return Error{Code::kCorrupt, "shorter than the 64-byte header", size};
  }
  const Buffer header =
      CTXFS_TRY(ReadBuffer(*level.source, 0, kHeaderSize, "header", request));
  if (!numbered) {
    constexpr uint64_t kLevelAt = 6;
    level.number = LoadLe<uint16_t>(header.data() + kLevelAt);
    level.file = level.Directory() + ".ctx";
  }
  return LevelReader(level, header.span(), size - kHeaderSize).Read();
}

}  // namespace

std::vector<uint64_t> ContextLevel::Shape() const {
  if (!vectors) return {entries};
  return {entries, header.embedding_dim};
}

uint64_t ContextLevel::Blocks() const {
  const uint64_t block = header.block_size;
  if (vectors || block == 0) return 0;
  return BlocksOf(entries, block);
}

Json ContextLevel::HeaderJson() const {
  if (fault) return {{"error", fault->what}};
  return {
      {"magic_hex", Hex(header.magic)},
      {"layout", std::string(1, header.layout)},
      {"version", header.version},
      {"level", header.level},
      {"block_size", header.block_size},
      {"embedding_dim", header.embedding_dim},
      {"dtype_code", header.dtype_code},
      {"num_entries", header.num_entries ? Json(*header.num_entries) : Json()},
      {"model_name", header.model_name}};
}

Json ContextLevel::ToJson() const {
  if (fault) return {{"status", "error"}, {"error", fault->what}};
  Json json = {{"status", odd ? "warn" : "ok"},
               {"header", HeaderJson()},
               {"shape", Shape()},
               {"dtype", kDTypes[header.dtype_code].name},
               {"entries", entries},
               {"payload_bytes", payload_size()},
               {"tail_bytes", tail}};
  if (!vectors && header.block_size > 0) {
    const uint64_t last = entries % header.block_size;
    json["blocks"] = Blocks();
    json["last_block_tokens"] =
        last != 0 || entries == 0 ? last : header.block_size;
  }
  return json;
}

std::optional<uint32_t> ContextLevelNumber(std::string_view file) {
  constexpr std::string_view kSuffix = ".ctx";
  constexpr size_t kMaxDigits = 5;
  if (!file.starts_with('L') || !file.ends_with(kSuffix)) return std::nullopt;
  std::string_view digits = file.substr(1, file.size() - 1 - kSuffix.size());
  if (digits.starts_with("OD")) digits.remove_prefix(2);
  if (digits.empty() || digits.size() > kMaxDigits) return std::nullopt;
  uint32_t number = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number;
}

ContextLevel ReadContextLevel(std::string file, std::optional<uint32_t> number,
                              Result<std::shared_ptr<const Source>> source,
                              const Request& request) {
  ContextLevel level;
  level.file = std::move(file);
  level.number = number.value_or(0);
  if (!source) {
    level.fault = std::move(source).error();
    return level;
  }
  level.source = *std::move(source);
  Status read = ReadLevel(level, number.has_value(), request);
  if (!read) level.fault = std::move(read).error();
  return level;
}

}  // namespace ctxfs::megacontext
