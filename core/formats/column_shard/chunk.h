// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/dtype.h"
#include "core/base/interrupt.h"
#include "core/base/result.h"
#include "core/content/read_context.h"

namespace ctxfs {

/// docs/columnshard.md, section 2: the numbers are the file's.
enum class ColumnType : uint8_t {
  kBool = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUint8 = 6,
  kUint16 = 7,
  kUint32 = 8,
  kUint64 = 9,
  kFloat16 = 10,
  kFloat32 = 11,
  kFloat64 = 12,
  kString = 13,
  kBytes = 14,
  kDatetime = 15,
  kUuid = 16,
  kBfloat16 = 17,
};

/// The type of that number, or nothing.
std::optional<ColumnType> ColumnTypeOf(uint64_t number);
std::string_view ColumnTypeName(ColumnType type);
/// Bytes of a value; 0 for strings and bytes.
uint64_t ColumnTypeWidth(ColumnType type);
/// What the values are to those who read them; a uuid is 16 of these.
DType ColumnDType(ColumnType type);

/// How a chunk's values are stored (section 3).
enum class ChunkCoding : uint8_t {
  kPlain,
  kDictionary,
  kRle,
  kDelta,
  kByteStreamSplit,
};

/// Bytes before the validity bits: the declared coding and the row count.
constexpr uint64_t kChunkHeaderSize = 5;

/// A chunk's payload taken apart; `validity` and `data` point into it.
struct Chunk {
  ColumnType type = ColumnType::kBool;
  ChunkCoding coding = ChunkCoding::kPlain;
  uint32_t count = 0;  // rows
  Bytes validity;      // bits, LSB first, 1 = valid; empty where all are
  Bytes data;

  bool IsValid(uint64_t row) const {
    return validity.empty() ||
           (std::to_integer<unsigned>(validity[row / 8]) >> (row % 8) & 1U);
  }
  uint64_t ValidRows() const;
};

/// Bytes of validity bits for so many rows.
constexpr uint64_t ValidityBytes(uint64_t rows) { return (rows + 7) / 8; }

/// The coding that `declared` stands for in a chunk of that type: the byte
/// says what was asked of the writer, not what it did (section 3). Nothing for
/// a number that stands for no coding.
std::optional<ChunkCoding> CodingOf(ColumnType type, uint8_t declared);

/// Takes `payload` apart. Fails with kCorrupt; offsets are within it.
Result<Chunk> ParseChunk(Bytes payload, ColumnType type, bool nullable);

/// The values of a fixed-width chunk, `per_row` of them a row, little-endian:
/// exactly all of `out`, count * per_row * width bytes. A null row of several
/// values repeats the one it has.
Status DecodeFixed(const Chunk& chunk, uint64_t per_row, MutableBytes out,
                   const Interrupt& interrupt = NeverInterrupted());

/// The rows of a string chunk as JSON, each on a line: a string, for bytes its
/// base64, or null. kLimit when the text is over limits::kDecodedBytes or the
/// request may not cause so much.
Result<Buffer> DecodeLines(const Chunk& chunk, const ReadContext& context);

/// One byte a row, 1 for valid: all of `out`.
void DecodeValidity(const Chunk& chunk, MutableBytes out);

}  // namespace ctxfs
