// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/gate.h"

namespace ctxfs {

/// How a part of a column is stored (docs/cvc.md, section 3).
enum class CvcCodec : uint8_t { kFp16, kInt8, kNone, kLossless, kUnknown };

/// Why rows cannot be read (docs/cvc.md, section 4). Only those before
/// kNoLocation say nothing against the stored bytes.
enum class CvcFault : uint8_t {
  kSound,
  kUnknownCodec,
  kNoMin,
  kNoScale,
  kWrongSize,
  kDType,
  kLosslessHead,
  kNoLocation,  // from here on there are no bytes to be had
  kOutsideChunk,
  kTruncated,
  kUnlocated,
  kInHeader,
  kOutsideFile,
  kOverlap,
};

/// What one chunk holds of one column.
struct CvcPiece {
  uint32_t column = 0;  // of CvcHeader::columns
  uint32_t offset = 0;  // within the chunk's payload, bytes
  uint32_t size = 0;
  float min = 0;
  float scale = 0;
  CvcCodec codec = CvcCodec::kUnknown;
  CvcFault fault = CvcFault::kSound;

  bool HasBytes() const { return fault < CvcFault::kNoLocation; }
};

/// Some rows of every column. Where it is, the prefixes in the file tell.
struct CvcChunk {
  uint64_t first_row = 0;
  uint64_t payload = 0;  // offset in the file
  uint32_t size = 0;
  uint32_t crc = 0;
  uint32_t first_piece = 0;  // its pieces end where the next chunk's begin
  CvcFault fault = CvcFault::kSound;
};

struct CvcColumn {
  std::string name;
  uint64_t dimension = 0;
  std::string dtype_text;
  std::string codec_text;
  CvcCodec codec = CvcCodec::kUnknown;
  std::optional<DType> declared;  // the one of dtype_text, if we know it
  DType dtype = DType::kF32;      // of the decoded elements
  // What the chunks have of it, as far as one can tell without reading them.
  uint64_t stored = 0;  // bytes
  uint64_t sound = 0;   // chunks with rows that can be decoded

  uint64_t row_bytes() const { return dimension * DTypeSize(dtype); }
};

/// The rows, in ranges from first to end, whose section's metadata has a value.
struct CvcSection {
  std::string label;  // "source=wiki"
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
};

/// The JSON header as tables: what a chunk costs is its record and a record
/// for each column in it (docs/cvc.md, section 2).
struct CvcHeader {
  bool columnar = false;
  bool has_offsets = false;  // chunks are where the header says
  uint64_t num_vectors = 0;
  std::vector<CvcColumn> columns;
  std::deque<CvcChunk> chunks;  // a deque: never twice in memory to grow
  std::deque<CvcPiece> pieces;  // by chunk, then column
  std::vector<CvcSection> sections;
  std::vector<std::string> warnings;
};

/// Parses the header. A fault's offset is that of `text`.
Result<CvcHeader> ParseCvcHeader(std::string_view text);

/// "fp16", "int8", "none", "lossless", "unknown".
std::string_view CvcCodecName(CvcCodec codec);
std::string_view CvcFaultText(CvcFault fault);

/// A CVC container. Its entries are the columns.
class CvcContainer final : public Container {
 public:
  CvcContainer(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads prelude, header and the chunks' prefixes. To be called once, before
  /// anything else.
  Status Load(const ReadContext& context);

  Json Info(const ReadContext& context) const override;
  uint32_t entry_count() const override {
    return static_cast<uint32_t>(header_.columns.size());
  }
  std::optional<std::string_view> EntryName(uint32_t entry) const override {
    return header_.columns[entry].name;
  }
  uint64_t EntrySize(uint32_t entry) const override;
  EntryInfo Describe(uint32_t entry) const override;
  Result<Content> OpenEntry(uint32_t entry,
                            const ReadContext& context) const override;
  std::string_view EntryDirectory() const override { return "columns"; }
  std::vector<OwnFile> OwnFiles() const override;
  std::vector<std::shared_ptr<const DerivedFiles>> Derived() const override;
  std::vector<ArrayInfo> Arrays(const ReadContext& context) const override;
  std::optional<Table> RowTable() const override;
  std::optional<ArraysUse> ArraysUsed() const override {
    for (const CvcColumn& column : header_.columns) {
      if (column.sound != chunks_with_rows_) continue;
      return ArraysUse{"vectors", EntryDirectory(), /*vectors=*/true};
    }
    return std::nullopt;
  }

  const CvcHeader& header() const { return header_; }
  /// Whether nothing of a column can be had.
  bool IsUnreadable(const CvcColumn& column) const {
    return column.sound == 0 && chunks_with_rows_ > 0;
  }
  uint64_t ChunkRows(uint32_t chunk) const;
  /// The chunk that holds a row of the file, in logarithmic time.
  uint32_t ChunkOfRow(uint64_t row) const;
  uint32_t ChunkOfPiece(uint32_t piece) const;
  /// What a chunk holds of a column; null for nothing.
  const CvcPiece* FindPiece(uint32_t chunk, uint32_t column) const;
  /// Why a column's rows of a chunk cannot be read.
  Error PieceError(uint32_t chunk, uint32_t column) const;
  /// Stands before a chunk's bytes; nothing where no checksum is to be looked
  /// at.
  std::optional<Gate> GateOf(uint32_t chunk) const;
  bool has_checksums() const { return prefix_ == 8; }
  /// "yes", "no", "failed"; "none" for a chunk without a checksum.
  std::string VerifiedText(uint32_t chunk) const;

 private:
  /// Load's steps.
  Status ReadPrelude();
  Status ReadHeader();
  Status LocateChunks();

  Status LocateInOrder();
  Status LocateByOffset();
  Status ReadPrefix(uint64_t at, CvcChunk& chunk);
  void MarkOverlaps();
  Status CheckPieces();
  Result<CvcFault> FaultOf(uint32_t chunk, const CvcPiece& piece) const;
  Result<CvcFault> LosslessFault(uint64_t at, uint64_t size,
                                 uint64_t elements) const;
  uint32_t PiecesEnd(uint32_t chunk) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  std::string version_;
  uint64_t json_at_ = 0;
  uint64_t json_size_ = 0;
  uint64_t prefix_ = 8;  // bytes before each payload
  uint64_t end_ = 0;     // of the last chunk that was found in order
  CvcHeader header_;
  uint64_t chunks_with_rows_ = 0;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of the chunks
};

/// `rows` rows of a column from `first_row` on, decoded (docs/cvc.md,
/// section 3).
std::shared_ptr<const Transform> CvcRows(
    std::shared_ptr<const CvcContainer> container, uint32_t column,
    uint64_t first_row, uint64_t rows);

/// chunks/NNNNN/COLUMN: what is stored of a column in a chunk.
std::shared_ptr<const DerivedFiles> CvcChunkFiles(
    std::shared_ptr<const CvcContainer> container);

/// sections/KEY=VALUE/COLUMN: the rows of a section, decoded.
std::shared_ptr<const DerivedFiles> CvcSectionFiles(
    std::shared_ptr<const CvcContainer> container);

}  // namespace ctxfs
