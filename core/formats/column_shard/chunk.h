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

namespace ctxfs::column_shard {

inline Error Corrupt(std::string what, uint64_t at = kNoOffset) {
  return {Code::kCorrupt, std::move(what), at};
}

/// Column types, by their numbers in the file (docs/formats/columnshard.md,
/// section 2).
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

/// Returns the type with this number; nullopt if there is none.
std::optional<ColumnType> ColumnTypeOf(uint64_t number);
std::string_view ColumnTypeName(ColumnType type);
/// Returns the size of a value in bytes; 0 for strings and bytes.
uint64_t ColumnTypeWidth(ColumnType type);
/// Returns the dtype in which values are shown. A uuid is shown as 16 values of
/// this dtype.
DType ColumnDType(ColumnType type);

/// Coding of a chunk's values (section 3).
enum class ChunkCoding : uint8_t {
  kPlain,
  kDictionary,
  kRle,
  kDelta,
  kByteStreamSplit,
};

/// Bytes before the validity bits: declared coding and row count.
constexpr uint64_t kChunkHeaderSize = 5;

/// A parsed chunk; `validity` and `data` point into its payload.
struct Chunk {
  ColumnType type = ColumnType::kBool;
  ChunkCoding coding = ChunkCoding::kPlain;
  uint32_t count = 0;  // rows
  Bytes validity;      // bits, lowest first, 1 = valid; empty: all valid
  Bytes data;

  bool IsValid(uint64_t row) const {
    return validity.empty() ||
           (std::to_integer<unsigned>(validity[row / 8]) >> (row % 8) & 1U);
  }
  uint64_t ValidRows() const;
};

/// Bytes of the validity bits of `rows` rows.
constexpr uint64_t ValidityBytes(uint64_t rows) { return (rows + 7) / 8; }

/// Returns the actual coding of a chunk. `declared` is only a request to the
/// writer; the coding also depends on the type (section 3). nullopt if
/// `declared` is not a coding.
std::optional<ChunkCoding> CodingOf(ColumnType type, uint8_t declared);

/// Parses `payload`. Fails with kCorrupt; the offset is relative to `payload`.
Result<Chunk> ParseChunk(Bytes payload, ColumnType type, bool nullable);

/// Decodes a fixed-width chunk with `per_row` values per row into `out`,
/// little-endian. `out` must have exactly count * per_row * width bytes. A null
/// row stores one value, which `out` repeats `per_row` times.
Status DecodeFixed(const Chunk& chunk, uint64_t per_row, MutableBytes out,
                   const Interrupt& interrupt = NeverInterrupted());

/// Returns the rows of a string chunk as JSON lines: strings, base64 for bytes,
/// or null. Fails with kLimit if the text exceeds limits::kDecodedBytes or the
/// work allowed to the request.
Result<Buffer> DecodeLines(const Chunk& chunk, const ReadContext& context);

/// Fills `out` with one byte per row, 1 for valid.
void DecodeValidity(const Chunk& chunk, MutableBytes out);

}  // namespace ctxfs::column_shard
