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

namespace ctxfs::cvc {

/// How a part of a column is stored (docs/cvc.md, section 3).
enum class Codec : uint8_t { kFp16, kInt8, kNone, kLossless, kUnknown };

/// Why rows cannot be read (docs/cvc.md, section 4). Only those before
/// kNoLocation say nothing against the stored bytes.
enum class Fault : uint8_t {
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
struct Piece {
  uint32_t column = 0;  // of Header::columns
  uint32_t offset = 0;  // within the chunk's payload, bytes
  uint32_t size = 0;
  float min = 0;
  float scale = 0;
  Codec codec = Codec::kUnknown;
  Fault fault = Fault::kSound;

  bool HasBytes() const { return fault < Fault::kNoLocation; }
};

/// Some rows of every column. Where it is, the prefixes in the file tell.
struct Chunk {
  uint64_t first_row = 0;
  uint64_t payload = 0;  // offset in the file
  uint32_t size = 0;
  uint32_t crc = 0;
  uint32_t first_piece = 0;  // its pieces end where the next chunk's begin
  Fault fault = Fault::kSound;
};

struct Column {
  std::string name;
  uint64_t dimension = 0;
  std::string dtype_text;
  std::string codec_text;
  Codec codec = Codec::kUnknown;
  std::optional<DType> declared;  // the one of dtype_text, if we know it
  DType dtype = DType::kF32;      // of the decoded elements
  // What the chunks have of it, as far as one can tell without reading them.
  uint64_t stored = 0;  // bytes
  uint64_t sound = 0;   // chunks with rows that can be decoded

  uint64_t row_bytes() const { return dimension * DTypeSize(dtype); }
};

/// The rows, in ranges from first to end, whose section's metadata has a value.
struct Section {
  std::string label;  // "source=wiki"
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
};

/// The JSON header as tables: what a chunk costs is its record and a record
/// for each column in it (docs/cvc.md, section 2).
struct Header {
  bool columnar = false;
  bool has_offsets = false;  // chunks are where the header says
  uint64_t num_vectors = 0;
  std::vector<Column> columns;
  std::deque<Chunk> chunks;  // a deque: never twice in memory to grow
  std::deque<Piece> pieces;  // by chunk, then column
  std::vector<Section> sections;
  std::vector<std::string> warnings;
};

/// Parses the header. A fault's offset is that of `text`.
Result<Header> ParseHeader(std::string_view text);

/// "fp16", "int8", "none", "lossless", "unknown".
std::string_view CodecName(Codec codec);
std::string_view FaultText(Fault fault);

/// A CVC container: columns of vectors, stored in chunks of rows.
class Collection final : public Container {
 public:
  Collection(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads prelude, header and the chunks' prefixes. To be called once, before
  /// anything else.
  Status Load(const ReadContext& /*context*/);

  Json Info(const ReadContext& context) const override;
  Tables Files() const override;
  ctxfs::Exports Export() const override;

  const Header& header() const { return header_; }
  /// A column as one row-major array over all chunks. Not read where a chunk is
  /// damaged, and not opened if all are.
  Result<Content> OpenColumn(uint32_t column) const;
  uint64_t ColumnSize(uint32_t column) const;
  EntryInfo DescribeColumn(uint32_t column) const;
  /// Whether it is known what a column's elements are decoded to.
  bool HasDType(const Column& column) const;
  /// The shape of `rows` rows of a column, as the writer's reader gives it.
  std::vector<uint64_t> Shape(const Column& column, uint64_t rows) const;
  /// Whether nothing of a column can be had.
  bool IsUnreadable(const Column& column) const {
    return column.sound == 0 && chunks_with_rows_ > 0;
  }
  uint64_t ChunkRows(uint32_t chunk) const;
  /// The chunk that holds a row of the file, in logarithmic time.
  uint32_t ChunkOfRow(uint64_t row) const;
  uint32_t ChunkOfPiece(uint32_t piece) const;
  /// What a chunk holds of a column; null for nothing.
  const Piece* FindPiece(uint32_t chunk, uint32_t column) const;
  /// Why a column's rows of a chunk cannot be read.
  Error PieceError(uint32_t chunk, uint32_t column) const;
  /// Stands before a chunk's bytes; nothing where no checksum is to be looked
  /// at.
  std::optional<Gate> GateOf(uint32_t chunk) const;
  bool has_checksums() const { return prefix_ == 8; }
  /// "yes", "no", "failed"; "none" for a chunk without a checksum.
  std::string VerifiedText(uint32_t chunk) const;

 private:
  /// Whether views have a column: those of its rows that cannot be read fail
  /// when they are.
  bool IsViewed(const Column& column) const {
    return HasDType(column) && !IsUnreadable(column);
  }
  std::vector<ArrayInfo> Arrays() const;
  ctxfs::Table RowTable() const;

  /// Load's steps.
  Status ReadPrelude();
  Status ReadHeader();
  Status LocateChunks();

  Status LocateInOrder();
  Status LocateByOffset();
  Status ReadPrefix(uint64_t at, Chunk& chunk);
  void MarkOverlaps();
  Status CheckPieces();
  Result<Fault> FaultOf(uint32_t chunk, const Piece& piece) const;
  Result<Fault> LosslessFault(uint64_t at, uint64_t size,
                              uint64_t elements) const;
  uint32_t PiecesEnd(uint32_t chunk) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  std::string version_;
  uint64_t json_at_ = 0;
  uint64_t json_size_ = 0;
  uint64_t prefix_ = 8;  // bytes before each payload
  uint64_t end_ = 0;     // of the last chunk that was found in order
  Header header_;
  uint64_t chunks_with_rows_ = 0;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of the chunks
};

/// `rows` rows of a column from `first_row` on, decoded (docs/cvc.md,
/// section 3).
std::shared_ptr<const Transform> DecodeRows(
    std::shared_ptr<const Collection> collection, uint32_t column,
    uint64_t first_row, uint64_t rows);

/// columns/NAME: whole columns, decoded. The entries.
std::shared_ptr<const FileTable> ColumnTable(
    std::shared_ptr<const Collection> collection);

/// chunks/NNNNN/COLUMN: the stored bytes of a column in a chunk.
std::shared_ptr<const FileTable> ChunkTable(
    std::shared_ptr<const Collection> collection);

/// sections/KEY=VALUE/COLUMN: the rows of a section, decoded.
std::shared_ptr<const FileTable> SectionTable(
    std::shared_ptr<const Collection> collection);

}  // namespace ctxfs::cvc
