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
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/container/facts/facts.h"
#include "core/container/format.h"
#include "core/content/checksum_guard.h"

namespace ctxfs::cvc {

/// Coding of a part of a column (docs/formats/cvc.md, section 3).
enum class Codec : uint8_t { kFp16, kInt8, kNone, kLossless, kUnknown };

/// Why rows cannot be decoded (docs/formats/cvc.md, section 4). The stored
/// bytes are readable only for the faults before kNoLocation.
enum class Fault : uint8_t {
  kSound,
  kUnknownCodec,
  kNoMin,
  kNoScale,
  kWrongSize,
  kDType,
  kLosslessHead,
  kNoLocation,  // from here on, the position of stored bytes is unknown
  kOutsideChunk,
  kTruncated,
  kUnlocated,
  kInHeader,
  kOutsideFile,
  kOverlap,
};

/// The part of a column in one chunk.
struct Piece {
  uint32_t column = 0;  // index in Header::columns
  uint32_t offset = 0;  // byte within the chunk's payload
  uint32_t size = 0;
  float min = 0;
  float scale = 0;
  Codec codec = Codec::kUnknown;
  Fault fault = Fault::kSound;

  bool HasBytes() const { return fault < Fault::kNoLocation; }
};

/// A chunk: some rows of every column. LocateChunks finds its payload, by the
/// chunks' prefixes or by file_offset.
struct Chunk {
  uint64_t first_row = 0;
  uint64_t payload = 0;  // byte of the file
  uint32_t size = 0;
  uint32_t crc = 0;
  uint32_t first_piece = 0;  // its pieces end at the next chunk's first_piece
  Fault fault = Fault::kSound;
};

struct Column {
  std::string name;
  uint64_t dimension = 0;
  std::string dtype_text;
  std::string codec_text;
  Codec codec = Codec::kUnknown;
  std::optional<DType> declared = std::nullopt;  // dtype_text, if recognised
  DType dtype = DType::kF32;                     // of the decoded elements
  uint32_t number = 0;                           // index in Header::columns
  // Totals over the column's parts. CheckPieces sets them.
  uint64_t stored = 0;  // bytes
  uint64_t offset = 0;  // first part's byte in the file; 0: no parts
  uint64_t sound = 0;   // chunks with decodable rows

  uint64_t row_bytes() const { return dimension * DTypeSize(dtype); }
};

/// The rows whose section has a certain metadata value, as half-open ranges.
struct Section {
  std::string label;  // "source=wiki"
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
};

/// The JSON header as tables: a record for each chunk, and a record for each
/// column in the chunk (docs/formats/cvc.md, section 2).
struct Header {
  bool columnar = false;
  bool has_offsets = false;  // every chunk has a file_offset
  uint64_t num_vectors = 0;
  std::vector<Column> columns;
  std::deque<Chunk> chunks;  // deques grow without copying
  std::deque<Piece> pieces;  // by chunk, then column
  std::vector<Section> sections;
  std::vector<std::string> warnings;
};

/// Parses the header. Error offsets are relative to `text`.
Result<Header> ParseHeader(std::string_view text, const Request& request);

/// Returns "fp16", "int8", "none", "lossless" or "unknown".
std::string_view CodecName(Codec codec);
std::string_view FaultText(Fault fault);

/// A CVC container: columns of vectors, stored in chunks of rows.
class Collection final : public Container, public SaysFacts {
 public:
  Collection(std::shared_ptr<const Source> source, const OpenOptions& options)
      : Container(std::move(source)), options_(options) {}

  /// Reads prelude, header, chunk prefixes and the heads of lossless payloads.
  /// Must be called once, first.
  Status Load(const ReadContext& context);

  void AddInfo(Json& info, const ReadContext& context) const override;
  Status AddFacts(const ReadContext& context, Facts& facts) const override;
  bool PartsFailAlone() const override { return true; }
  Tables Files() const override;
  ctxfs::Exports Export() const override;

  const Header& header() const { return header_; }

  /// Opens a column as one row-major array over all chunks. Reading rows of a
  /// damaged chunk fails; opening fails if all chunks are damaged.
  Result<Content> OpenColumn(const Column& column) const;
  uint64_t ColumnSize(const Column& column) const {
    return IsUnreadable(column) ? 0 : header_.num_vectors * column.row_bytes();
  }
  /// Describes a column in constant time. EntryInfo::add_findings later sets
  /// the true `verified`.
  EntryInfo DescribeColumn(const Column& column) const;
  std::optional<Error> ColumnFault(const Column& column) const;

  /// Adds the worst verdict of all chunks, in linear time.
  void AddVerdicts(EntryInfo& info) const;
  bool HasDType(const Column& column) const;
  /// Returns the shape of `rows` rows of a column, like the Python package.
  std::vector<uint64_t> Shape(const Column& column, uint64_t rows) const;
  bool IsUnreadable(const Column& column) const {
    return column.sound == 0 && chunks_with_rows_ > 0;
  }
  uint64_t ChunkRows(uint32_t chunk) const;
  /// Returns the chunk with row `row` of the file, in logarithmic time.
  uint32_t ChunkOfRow(uint64_t row) const;
  uint32_t ChunkOfPiece(uint32_t piece) const;
  /// Returns the part of a column in a chunk; null if there is none.
  const Piece* FindPiece(uint32_t chunk, uint32_t column) const;
  /// Returns the reason why a column's rows in a chunk cannot be read.
  Error PieceError(uint32_t chunk, uint32_t column) const;
  /// Returns a chunk's guard; nullopt if the file has no checksums, or with
  /// verify=off.
  std::optional<ChecksumGuard> GuardOf(uint32_t chunk) const;
  bool has_checksums() const { return prefix_ == 8; }
  /// Returns "yes", "no" or "failed"; "none" without a checksum.
  std::string ChunkVerified(uint32_t chunk) const;

 private:
  /// Whether views show a column. If some of its rows are unreadable, reading
  /// those fails.
  bool IsViewed(const Column& column) const {
    return HasDType(column) && !IsUnreadable(column);
  }
  std::vector<ArrayInfo> Arrays() const;
  ctxfs::Table RowTable() const;
  std::shared_ptr<const FileTable> ColumnFiles() const;
  std::shared_ptr<const FileTable> PieceFiles() const;
  EntryInfo DescribePiece(uint32_t number) const;
  Result<Content> OpenPiece(uint32_t number) const;
  std::shared_ptr<const FileTable> SectionFiles() const;
  EntryInfo DescribeSection(const Section& section, const Column& column) const;
  Result<Content> OpenSection(const Section& section,
                              const Column& column) const;

  /// The steps of Load.
  Status ReadPrelude(const ReadContext& context);
  Status ReadHeader(const ReadContext& context);
  Status LocateChunks(const ReadContext& context);

  Status LocateInOrder(const ReadContext& context);
  Status LocateByOffset(const ReadContext& context);
  Status ReadPrefix(uint64_t at, Chunk& chunk, const Request& request);
  void MarkOverlaps();
  Status WarnOfBytesAfter(const ReadContext& context);
  Status CheckPieces(const ReadContext& context);
  Result<Fault> FaultOf(uint32_t chunk, const Piece& piece,
                        const Request& request) const;
  Result<Fault> LosslessFault(uint64_t at, uint64_t size, uint64_t elements,
                              const Request& request) const;
  uint32_t PiecesEnd(uint32_t chunk) const;

  const OpenOptions options_;
  const uint64_t owner_ = NewOwner();
  std::string version_;
  uint64_t json_at_ = 0;
  uint64_t json_size_ = 0;
  uint64_t prefix_ = 8;  // bytes before each payload
  uint64_t end_ = 0;     // of the last chunk found
  Header header_;
  uint64_t chunks_with_rows_ = 0;
  std::shared_ptr<std::vector<AtomicVerdict>> verdicts_;  // of the chunks
};

/// Decodes `rows` rows of a column from `first_row` on (section 3).
std::shared_ptr<const Transform> DecodeRows(
    std::shared_ptr<const Collection> collection, uint32_t column,
    uint64_t first_row, uint64_t rows);

}  // namespace ctxfs::cvc
