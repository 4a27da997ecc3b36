// SPDX-License-Identifier: Apache-2.0
//
// One chunk of a ColumnShard: the part of a column in a row group
// (docs/formats/columnshard.md, section 3).
//
//   0   u8 declared coding
//   1   u32 rows
//   5   validity bits, one per row, if the column is nullable
//   ..  data: a value for every row, null or not
#include "core/formats/column_shard/chunk.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/limits.h"
#include "core/base/text/text.h"

namespace ctxfs::column_shard {
namespace {

// Rows decoded between two interrupt checks.
constexpr uint64_t kRowsACheck = 65'536;

struct TypeTraits {
  std::string_view name;
  uint64_t width;
  DType dtype;
};

constexpr std::array<TypeTraits, 17> kTypes = {{
    {"bool", 1, DType::kBool},
    {"int8", 1, DType::kI8},
    {"int16", 2, DType::kI16},
    {"int32", 4, DType::kI32},
    {"int64", 8, DType::kI64},
    {"uint8", 1, DType::kU8},
    {"uint16", 2, DType::kU16},
    {"uint32", 4, DType::kU32},
    {"uint64", 8, DType::kU64},
    {"float16", 2, DType::kF16},
    {"float32", 4, DType::kF32},
    {"float64", 8, DType::kF64},
    {"string", 0, DType::kU8},
    {"bytes", 0, DType::kU8},
    {"datetime", 8, DType::kI64},
    {"uuid", 16, DType::kU8},
    {"bfloat16", 2, DType::kBf16},
}};

const TypeTraits& TraitsOf(ColumnType type) {
  return kTypes[static_cast<size_t>(type) - 1];
}

Error TooShort(const Chunk& chunk, uint64_t needed) {
  return Corrupt(fmt::format("its data has {} bytes: {} are needed",
                             chunk.data.size(), needed));
}

/// Returns `width` bits from bit `at` on, lowest bit first.
uint64_t Bits(Bytes packed, uint64_t at, unsigned width) {
  uint64_t value = 0;
  for (unsigned got = 0; got < width;) {
    const auto byte = std::to_integer<unsigned>(packed[(at + got) / 8]);
    const auto shift = static_cast<unsigned>((at + got) % 8);
    const unsigned take = std::min(8 - shift, width - got);
    value |= uint64_t{byte >> shift & ((1U << take) - 1)} << got;
    got += take;
  }
  return value;
}

/// Decodes the values v[0] = first, v[i + 1] = v[i] + least + packed[i], modulo
/// 2^64.
Status DecodeDelta(const Chunk& chunk, uint64_t width, MutableBytes out,
                   const Interrupt& interrupt) {
  ByteReader in(chunk.data);
  uint64_t value = in.U64();
  const uint64_t least = in.U64();
  const unsigned bits = in.U8();
  if (!in.ok()) return TooShort(chunk, 17);
  if (bits > 64) {
    return Corrupt(fmt::format("a delta of {} bits", bits));
  }
  const uint64_t steps = chunk.count == 0 ? 0 : chunk.count - 1;
  const uint64_t packed_size = (steps * bits + 7) / 8;
  const Bytes packed = in.Take(packed_size);
  if (!in.ok()) return TooShort(chunk, 17 + packed_size);
  for (uint64_t i = 0; i < chunk.count; ++i) {
    if (i % kRowsACheck == 0) {
      CTXFS_TRY(interrupt.Check());
    }
    if (i > 0) value += least + Bits(packed, (i - 1) * bits, bits);
    std::byte* to = out.data() + i * width;
    if (width == 8) {
      StoreLe(value, to);
    } else {
      StoreLe(static_cast<uint32_t>(value), to);
    }
  }
  return {};
}

/// Decodes runs of (uvarint length, u8 value). The last run may be too long.
Status DecodeRle(const Chunk& chunk, MutableBytes out) {
  ByteReader in(chunk.data);
  const uint8_t bits = in.U8();
  if (chunk.count == 0) return {};
  if (in.ok() && (bits == 0 || bits > 8)) {
    return Corrupt(fmt::format("a run's value of {} bits", bits));
  }
  for (size_t done = 0; done < out.size();) {
    const uint64_t run = in.Uvarint();
    const uint8_t value = in.U8();
    if (!in.ok()) {
      return Corrupt(
          fmt::format("its runs end after {} of {} rows", done, out.size()));
    }
    const auto length =
        static_cast<size_t>(std::min<uint64_t>(run, out.size() - done));
    std::memset(out.data() + done, value != 0 ? 1 : 0, length);
    done += length;
  }
  return {};
}

/// The values of a chunk stored plain or as byte planes.
class StoredValues {
 public:
  StoredValues(const Chunk& chunk, uint64_t width)
      : data_(chunk.data),
        width_(width),
        planes_(chunk.coding == ChunkCoding::kByteStreamSplit
                    ? chunk.data.size() / width
                    : 0) {}

  void Copy(uint64_t index, std::byte* out) const {
    if (planes_ == 0) {
      std::memcpy(out, data_.data() + index * width_, width_);
      return;
    }
    for (uint64_t j = 0; j < width_; ++j) {
      out[j] = data_[j * planes_ + index];
    }
  }

 private:
  Bytes data_;
  uint64_t width_;
  uint64_t planes_;  // values in a byte plane; 0: not split
};

void AppendLine(const Chunk& chunk, uint64_t row, std::string_view value,
                std::string& text) {
  if (!chunk.IsValid(row)) {
    text += "null\n";
  } else if (chunk.type == ColumnType::kBytes) {
    text += '"' + Base64(value) + "\"\n";
  } else if (IsPlainText(value)) {
    text += '"';
    text += value;
    text += "\"\n";
  } else {
    text += JsonLine(value);
    text += '\n';
  }
}

/// The text of the rows. As it grows, charges the request for its bytes.
class Lines {
 public:
  explicit Lines(const ReadContext& context) : context_(context) {}

  Status Append(const Chunk& chunk, uint64_t row, std::string_view value) {
    AppendLine(chunk, row, value, text_);
    return text_.size() - counted_ < kPiece ? Status() : Count();
  }

  Result<Buffer> Take() {
    CTXFS_TRY(Count());
    Buffer lines(text_.size());
    if (!text_.empty()) std::memcpy(lines.data(), text_.data(), text_.size());
    return lines;
  }

 private:
  static constexpr size_t kPiece = 256 * limits::kKiB;

  Status Count() {
    const size_t more = text_.size() - counted_;
    counted_ = text_.size();
    if (counted_ > limits::kDecodedBytes) {
      return Error{Code::kLimit,
                   fmt::format("its text is over the limit of {} bytes",
                               limits::kDecodedBytes)};
    }
    CTXFS_TRY(context_.Check());
    return context_.Charge(more);
  }

  const ReadContext& context_;
  std::string text_;
  size_t counted_ = 0;
};

/// Reads a u32 length and as many bytes.
std::string_view NextString(ByteReader& in) {
  return AsText(in.Take(in.U32()));
}

Status PlainLines(const Chunk& chunk, Lines& lines) {
  ByteReader in(chunk.data);
  for (uint64_t row = 0; row < chunk.count; ++row) {
    const std::string_view value = NextString(in);
    if (!in.ok()) {
      return Corrupt(
          fmt::format("its strings end after {} of {} rows", row, chunk.count));
    }
    CTXFS_TRY(lines.Append(chunk, row, value));
  }
  return {};
}

Status DictionaryLines(const Chunk& chunk, Lines& lines) {
  ByteReader in(chunk.data);
  const uint64_t size = in.U32();
  // A string takes at least 4 bytes.
  if (!in.ok() || size > in.remaining() / 4) {
    return Corrupt(fmt::format(
        "its dictionary of {} strings is longer than its data", size));
  }
  std::vector<std::string_view> words(static_cast<size_t>(size));
  for (std::string_view& word : words) word = NextString(in);
  const unsigned width = size <= 0xFF ? 1 : size <= 0xFFFF ? 2 : 4;
  const Bytes indices = in.Take(uint64_t{width} * chunk.count);
  if (!in.ok()) {
    return Corrupt(fmt::format(
        "its dictionary and {} indices are longer than its data", chunk.count));
  }
  ByteReader index(indices);
  for (uint64_t row = 0; row < chunk.count; ++row) {
    const uint64_t word = width == 1   ? index.U8()
                          : width == 2 ? index.U16()
                                       : index.U32();
    if (word >= size) {
      return Corrupt(fmt::format("row {} is string {} of a dictionary of {}",
                                 row, word, size));
    }
    const std::string_view value = words[static_cast<size_t>(word)];
    CTXFS_TRY(lines.Append(chunk, row, value));
  }
  return {};
}

}  // namespace

std::optional<ColumnType> ColumnTypeOf(uint64_t number) {
  if (number == 0 || number > kTypes.size()) return std::nullopt;
  return static_cast<ColumnType>(number);
}

std::string_view ColumnTypeName(ColumnType type) { return TraitsOf(type).name; }

uint64_t ColumnTypeWidth(ColumnType type) { return TraitsOf(type).width; }

DType ColumnDType(ColumnType type) { return TraitsOf(type).dtype; }

uint64_t Chunk::ValidRows() const {
  uint64_t valid = 0;
  for (uint64_t row = 0; row < count; ++row) {
    if (IsValid(row)) ++valid;
  }
  return valid;
}

std::optional<ChunkCoding> CodingOf(ColumnType type, uint8_t declared) {
  if (declared > static_cast<uint8_t>(ChunkCoding::kByteStreamSplit)) {
    return std::nullopt;
  }
  const auto coding = static_cast<ChunkCoding>(declared);
  const auto plain_or = [coding](ChunkCoding other) {
    return coding == other ? other : ChunkCoding::kPlain;
  };
  switch (type) {
    case ColumnType::kBool:
      return ChunkCoding::kRle;
    case ColumnType::kInt32:
    case ColumnType::kInt64:
    case ColumnType::kDatetime:
      return plain_or(ChunkCoding::kDelta);
    case ColumnType::kFloat32:
    case ColumnType::kFloat64:
      return plain_or(ChunkCoding::kByteStreamSplit);
    case ColumnType::kString:
      return plain_or(ChunkCoding::kDictionary);
    default:
      return ChunkCoding::kPlain;
  }
}

Result<Chunk> ParseChunk(Bytes payload, ColumnType type, bool nullable) {
  ByteReader in(payload);
  const uint8_t declared = in.U8();
  Chunk chunk;
  chunk.type = type;
  chunk.count = in.U32();
  if (nullable) chunk.validity = in.Take(ValidityBytes(chunk.count));
  if (!in.ok()) {
    return Corrupt("it ends within its header or validity bits",
                   payload.size());
  }
  const std::optional<ChunkCoding> coding = CodingOf(type, declared);
  if (!coding) {
    return Corrupt(fmt::format("coding {} is unknown", declared), 0);
  }
  chunk.coding = *coding;
  chunk.data = in.Take(in.remaining());
  return chunk;
}

Status DecodeFixed(const Chunk& chunk, uint64_t per_row, MutableBytes out,
                   const Interrupt& interrupt) {
  const uint64_t width = ColumnTypeWidth(chunk.type);
  if (chunk.coding == ChunkCoding::kRle) return DecodeRle(chunk, out);
  if (chunk.coding == ChunkCoding::kDelta) {
    return DecodeDelta(chunk, width, out, interrupt);
  }
  const bool ragged = per_row != 1 && !chunk.validity.empty();
  const uint64_t valid = ragged ? chunk.ValidRows() : chunk.count;
  const uint64_t stored = valid * per_row + (chunk.count - valid);
  if (chunk.data.size() / width < stored) {
    return TooShort(chunk, stored * width);
  }
  if (chunk.coding == ChunkCoding::kByteStreamSplit &&
      chunk.data.size() % width != 0) {
    return Corrupt(fmt::format(
        "its split data of {} bytes is not a whole number of values",
        chunk.data.size()));
  }
  if (!ragged && chunk.coding == ChunkCoding::kPlain) {
    if (!out.empty()) std::memcpy(out.data(), chunk.data.data(), out.size());
    return {};
  }
  const StoredValues values(chunk, width);
  std::byte* to = out.data();
  uint64_t next = 0;
  for (uint64_t row = 0; row < chunk.count; ++row) {
    if (row % kRowsACheck == 0) {
      CTXFS_TRY(interrupt.Check());
    }
    const uint64_t step = !ragged || chunk.IsValid(row) ? 1 : 0;
    for (uint64_t k = 0; k < per_row; ++k, to += width) {
      values.Copy(next + k * step, to);
    }
    next += step == 1 ? per_row : 1;
  }
  return {};
}

Result<Buffer> DecodeLines(const Chunk& chunk, const ReadContext& context) {
  Lines lines(context);
  CTXFS_TRY(chunk.coding == ChunkCoding::kDictionary
                ? DictionaryLines(chunk, lines)
                : PlainLines(chunk, lines));
  return lines.Take();
}

void DecodeValidity(const Chunk& chunk, MutableBytes out) {
  for (size_t row = 0; row < out.size(); ++row) {
    out[row] = std::byte{chunk.IsValid(row)};
  }
}

}  // namespace ctxfs::column_shard
