// SPDX-License-Identifier: Apache-2.0
//
// CVC, the compressed vector collection, every version (docs/formats/cvc.md).
//
//   0    "CVCF"
//   4    version 0.1.0: u32 length of the JSON, which starts at 8
//        later: u16 major, u16 minor, u32 length of the JSON, which starts at
//        12
//   ...  the chunks, one after the other or each at its file_offset:
//        u32 length, u32 CRC-32 (not in 0.1.0), payload
#include "core/formats/cvc/cvc.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/container/bytes_after.h"
#include "core/container/facts/config_facts.h"
#include "core/container/open.h"

namespace ctxfs::cvc {
namespace {

constexpr std::string_view kMagic = "CVCF";
constexpr uint64_t kVersionAt = 4;
constexpr uint64_t kOldJsonAt = 8;
constexpr uint64_t kLengthAt = 8;
constexpr uint64_t kJsonAt = 12;
constexpr uint64_t kOldPrefix = 4;

// Bytes of the file that must contain the first character of the JSON. Writers
// put no blanks before it.
constexpr uint64_t kHeadBytes = 4096;

// Chunks, or their parts, between two interrupt checks. Each may need a read.
constexpr uint32_t kReadsACheck = 1024;

bool Probe(Bytes head) { return AsText(head).starts_with(kMagic); }

/// Whether the first non-blank character from `at` on is '{'.
bool OpensObject(Bytes head, uint64_t at) {
  if (at >= head.size()) return false;
  const std::string_view text = AsText(head).substr(static_cast<size_t>(at));
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Status Collection::Load(const ReadContext& context) {
  for (const auto step :
       {&Collection::ReadPrelude, &Collection::ReadHeader,
        &Collection::LocateChunks, &Collection::WarnOfBytesAfter,
        &Collection::CheckPieces}) {
    CTXFS_TRY((this->*step)(context));
  }
  return {};
}

// Version 0.1.0 has the length of its header where later versions have their
// version number, and a length such as 65537 looks like a version. The start of
// the JSON distinguishes them (docs/formats/cvc.md, section 1).
Status Collection::ReadPrelude(const ReadContext& context) {
  const uint64_t size = source()->size();
  const Buffer head = CTXFS_TRY(
      ReadBuffer(*source(), 0, std::min(size, kHeadBytes), "prelude", context));
  const Error cut{Code::kCorrupt, "the file ends within the prelude", size};
  if (size < kOldJsonAt) return cut;
  const auto word = LoadLe<uint32_t>(head.data() + kVersionAt);
  const unsigned major = word & 0xFFFFU;
  const unsigned minor = word >> 16;
  const auto length =
      size < kJsonAt ? 0 : LoadLe<uint32_t>(head.data() + kLengthAt);

  bool versioned = major >= 1 && major <= 10 && minor <= 100;
  if (versioned && word > 2) {
    const bool reads_versioned = major <= 2 &&
                                 InBounds(kJsonAt, length, size) &&
                                 OpensObject(head.span(), kJsonAt);
    const bool reads_old = InBounds(kOldJsonAt, word, size) &&
                           OpensObject(head.span(), kOldJsonAt);
    versioned = reads_versioned || !reads_old;
    if (versioned && major > 2) {
      return Error{
          Code::kVersion,
          fmt::format("CVC version {}.{} is not supported", major, minor),
          kVersionAt};
    }
  }
  if (versioned && size < kJsonAt) return cut;
  version_ =
      versioned ? fmt::format("{}.{}", major, minor) : std::string("0.1");
  prefix_ = versioned ? prefix_ : kOldPrefix;
  json_at_ = versioned ? kJsonAt : kOldJsonAt;
  json_size_ = versioned ? length : word;
  return {};
}

Status Collection::ReadHeader(const ReadContext& context) {
  const uint64_t length_at = json_at_ - sizeof(uint32_t);
  if (!InBounds(json_at_, json_size_, source()->size())) {
    return Error{
        Code::kCorrupt,
        fmt::format("the header of {} bytes does not fit in the file of {}",
                    json_size_, source()->size()),
        length_at};
  }
  if (json_size_ > limits::kJsonBytes) {
    return Error{Code::kLimit,
                 fmt::format("the header of {} bytes is over the limit of {}",
                             json_size_, limits::kJsonBytes),
                 length_at};
  }
  const Buffer text =
      CTXFS_TRY(ReadBuffer(*source(), json_at_, json_size_, "header", context));
  Result<Header> header = ParseHeader(AsText(text.span()), context);
  if (!header) {
    Error error = std::move(header).error();
    error.offset = json_at_ + (error.offset == kNoOffset ? 0 : error.offset);
    return error;
  }
  header_ = std::move(*header);
  return {};
}

Status Collection::LocateChunks(const ReadContext& context) {
  verdicts_ =
      std::make_shared<std::vector<AtomicVerdict>>(header_.chunks.size());
  end_ = json_at_ + json_size_;
  return header_.has_offsets ? LocateByOffset(context) : LocateInOrder(context);
}

/// Reads the prefix at `at`; checks that the payload is within the file.
Status Collection::ReadPrefix(uint64_t at, Chunk& chunk,
                              const Request& request) {
  const uint64_t size = source()->size();
  chunk.payload = at;
  chunk.fault = Fault::kTruncated;
  if (!InBounds(at, prefix_, size)) return {};
  std::array<std::byte, 8> prefix = {};
  const MutableBytes bytes = MutableBytes(prefix).first(prefix_);
  CTXFS_TRY(source()->ReadAt(at, bytes, request));
  ByteReader in(prefix);
  chunk.size = in.U32();
  chunk.crc = in.U32();
  chunk.payload = at + prefix_;
  if (InBounds(chunk.payload, chunk.size, size)) {
    chunk.fault = Fault::kSound;
  }
  return {};
}

Status Collection::LocateInOrder(const ReadContext& context) {
  bool found = true;
  uint32_t number = 0;
  for (Chunk& chunk : header_.chunks) {
    if (number++ % kReadsACheck == 0) {
      CTXFS_TRY(context.Check());
    }
    chunk.fault = Fault::kUnlocated;
    if (!found) continue;
    CTXFS_TRY(ReadPrefix(end_, chunk, context));
    found = chunk.fault == Fault::kSound;
    if (found) end_ = chunk.payload + chunk.size;
  }
  return {};
}

// The writer of files with file_offset overwrites its first header with a
// longer one, which may destroy the start of the first chunk. The header itself
// is intact.
Status Collection::LocateByOffset(const ReadContext& context) {
  uint32_t number = 0;
  for (Chunk& chunk : header_.chunks) {
    if (number++ % kReadsACheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const uint64_t at = chunk.payload;
    if (at < end_) {
      chunk.fault = Fault::kInHeader;
    } else if (!InBounds(at, prefix_, source()->size())) {
      chunk.fault = Fault::kOutsideFile;
    } else if (Status read = ReadPrefix(at, chunk, context); !read) {
      return read;
    }
  }
  MarkOverlaps();
  return {};
}

void Collection::MarkOverlaps() {
  std::vector<uint32_t> order(header_.chunks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    const uint64_t left = header_.chunks[a].payload;
    const uint64_t right = header_.chunks[b].payload;
    return left != right ? left < right : a < b;
  });
  uint64_t end = end_;
  for (const uint32_t i : order) {
    Chunk& chunk = header_.chunks[i];
    if (chunk.fault != Fault::kSound) continue;
    if (chunk.payload - prefix_ < end) {
      chunk.fault = Fault::kOverlap;
    } else {
      end = chunk.payload + chunk.size;
    }
  }
  end_ = end;
}

Status Collection::WarnOfBytesAfter(const ReadContext& context) {
  const uint64_t size = source()->size();
  // If a chunk is lost, the end of the last chunk is unknown.
  const bool lost = std::ranges::any_of(header_.chunks, [](const Chunk& chunk) {
    return chunk.fault != Fault::kSound;
  });
  if (lost || end_ >= size) return {};
  const char* last = header_.chunks.empty() ? "header" : "last chunk";
  Warn(CTXFS_TRY(BytesAfter(
      *source(), end_, fmt::format("{} bytes follow the {}", size - end_, last),
      options_.formats, context)));
  return {};
}

Status Collection::CheckPieces(const ReadContext& context) {
  for (uint32_t i = 0; i < header_.chunks.size(); ++i) {
    const bool has_rows = ChunkRows(i) > 0;
    if (has_rows) ++chunks_with_rows_;
    for (uint32_t k = header_.chunks[i].first_piece; k < PiecesEnd(i); ++k) {
      if (k % kReadsACheck == 0) {
        CTXFS_TRY(context.Check());
      }
      Piece& piece = header_.pieces[k];
      if (!header_.columnar) piece.size = header_.chunks[i].size;
      piece.fault = CTXFS_TRY(FaultOf(i, piece, context));
      Column& column = header_.columns[piece.column];
      if (piece.HasBytes()) {
        column.stored += piece.size;
        if (column.offset == 0) {
          column.offset = header_.chunks[i].payload + piece.offset;
        }
      }
      if (has_rows && piece.fault == Fault::kSound) ++column.sound;
    }
  }
  return {};
}

Result<Fault> Collection::FaultOf(uint32_t chunk, const Piece& piece,
                                  const Request& request) const {
  const Chunk& record = header_.chunks[chunk];
  if (record.fault != Fault::kSound) return record.fault;
  if (piece.fault == Fault::kOutsideChunk ||
      !InBounds(piece.offset, piece.size, record.size)) {
    return Fault::kOutsideChunk;
  }
  if (piece.fault != Fault::kSound) return piece.fault;
  const Column& column = header_.columns[piece.column];
  const std::optional<DType> decoded =
      piece.codec == Codec::kNone ? column.declared : DType::kF32;
  if (decoded != column.dtype) return Fault::kDType;
  // The product does not overflow: the rows and dimensions in the header were
  // checked.
  const uint64_t elements = ChunkRows(chunk) * column.dimension;
  uint64_t size = elements;
  switch (piece.codec) {
    case Codec::kLossless:
      if (elements == 0) return Fault::kSound;
      return LosslessFault(record.payload + piece.offset, piece.size, elements,
                           request);
    case Codec::kFp16:
      size *= 2;
      break;
    case Codec::kNone:
      size *= DTypeSize(*decoded);
      break;
    default:
      break;
  }
  return piece.size == size ? Fault::kSound : Fault::kWrongSize;
}

/// Checks that a lossless payload has the right count, valid widths, and at
/// least the bytes that these need.
Result<Fault> Collection::LosslessFault(uint64_t at, uint64_t size,
                                        uint64_t elements,
                                        const Request& request) const {
  std::array<std::byte, 8> head = {};
  if (size < head.size()) return Fault::kLosslessHead;
  CTXFS_TRY(source()->ReadAt(at, head, request));
  ByteReader in(head);
  if (in.U32() != elements) return Fault::kLosslessHead;
  uint64_t least = head.size();
  for (unsigned plane = 0; plane < 4; ++plane) {
    const unsigned width = in.U8();
    if (width < 1 || width > 8) return Fault::kLosslessHead;
    constexpr uint64_t kDictionary = 2 + 1;  // the size and one value
    least += kDictionary + (elements * width + 7) / 8;
  }
  return size < least ? Fault::kLosslessHead : Fault::kSound;
}

uint64_t Collection::ChunkRows(uint32_t chunk) const {
  const uint64_t end = chunk + 1 < header_.chunks.size()
                           ? header_.chunks[chunk + 1].first_row
                           : header_.num_vectors;
  return end - header_.chunks[chunk].first_row;
}

uint32_t Collection::ChunkOfRow(uint64_t row) const {
  const auto after =
      std::ranges::upper_bound(header_.chunks, row, {}, &Chunk::first_row);
  return static_cast<uint32_t>(after - header_.chunks.begin() - 1);
}

uint32_t Collection::PiecesEnd(uint32_t chunk) const {
  return chunk + 1 < header_.chunks.size()
             ? header_.chunks[chunk + 1].first_piece
             : static_cast<uint32_t>(header_.pieces.size());
}

uint32_t Collection::ChunkOfPiece(uint32_t piece) const {
  const auto after =
      std::ranges::upper_bound(header_.chunks, piece, {}, &Chunk::first_piece);
  return static_cast<uint32_t>(after - header_.chunks.begin() - 1);
}

const Piece* Collection::FindPiece(uint32_t chunk, uint32_t column) const {
  const auto begin = header_.pieces.begin() + header_.chunks[chunk].first_piece;
  const auto end = header_.pieces.begin() + PiecesEnd(chunk);
  const auto found =
      std::ranges::lower_bound(begin, end, column, {}, &Piece::column);
  return found != end && found->column == column ? &*found : nullptr;
}

std::optional<ChecksumGuard> Collection::GuardOf(uint32_t chunk) const {
  if (!options_.verify || !has_checksums()) return std::nullopt;
  const Chunk& record = header_.chunks[chunk];
  return ChecksumGuard({owner_, chunk},
                       {source(),
                        record.payload,
                        record.size,
                        {ChecksumKind::kCrc32, record.crc}},
                       {verdicts_, &(*verdicts_)[chunk]});
}

// `none` stores the declared dtype; other known codecs store floats. The dtype
// of an unknown codec is unknown.
bool Collection::HasDType(const Column& column) const {
  if (column.sound > 0 || !header_.columnar) return true;
  return column.codec == Codec::kNone ? column.declared.has_value()
                                      : column.codec != Codec::kUnknown;
}

std::vector<uint64_t> Collection::Shape(const Column& column,
                                        uint64_t rows) const {
  if (header_.columnar && column.dimension == 1) return {rows};
  return {rows, column.dimension};
}

Result<Content> Collection::OpenColumn(const Column& column) const {
  if (std::optional<Error> fault = ColumnFault(column)) {
    return *std::move(fault);
  }
  const uint64_t size = ColumnSize(column);
  if (size == 0) return Content();
  return Content(
      Computed{DecodeRows(Share(*this), column.number, 0, header_.num_vectors)},
      size);
}

Status Collection::AddFacts(const ReadContext& context, Facts& facts) const {
  AddNamed(Info(context),
           {{"rows", "rows", "vectors"},
            {"layout", "layout"},
            {"chunks", "chunks"},
            {"sections", "sections"}},
           facts);
  return AddArrays(*Entries(), context, facts);
}

Exports Collection::Export() const {
  Exports exports;
  const bool any = std::ranges::any_of(
      header_.columns,
      [this](const Column& column) { return IsViewed(column); });
  if (!any) return exports;
  exports.bundle_name = "vectors";
  exports.vectors = true;
  exports.arrays = [self = Share(*this)](const ReadContext& /*context*/) {
    return self->Arrays();
  };
  exports.table = [self = Share(*this)] { return self->RowTable(); };
  exports.documents = {{DocumentRole::kDescription, Files()[1], 0}};
  return exports;
}

std::vector<ArrayInfo> Collection::Arrays() const {
  std::vector<ArrayInfo> arrays;
  for (const Column& column : header_.columns) {
    if (!IsViewed(column)) continue;
    if (!AdmitGrowth(arrays)) break;
    arrays.push_back(
        {column.name, column.dtype, Shape(column, header_.num_vectors),
         [self = Share(*this), &column](const ReadContext& /*context*/) {
           return self->OpenColumn(column);
         }});
  }
  return arrays;
}

Table Collection::RowTable() const {
  Table table;
  table.rows = header_.num_vectors;
  table.as_text = false;
  for (const Column& column : header_.columns) {
    if (!IsViewed(column)) continue;
    TableColumn made;
    made.name = column.name;
    made.dtype = column.dtype;
    made.per_row = column.dimension;
    made.list = Shape(column, table.rows).size() > 1;
    made.open = [self = Share(*this), &column](const ReadContext& /*context*/) {
      return self->OpenColumn(column);
    };
    table.columns.push_back(std::move(made));
  }
  return table;
}

}  // namespace ctxfs::cvc

namespace ctxfs {

extern const Format kCvc{.name = "cvc",
                         .contents = "compressed vector collections",
                         .extensions = "cvc",
                         .golden = "cvc",
                         .docs = "cvc",
                         .probe = &cvc::Probe,
                         .open = &OpenAs<cvc::Collection>};

}  // namespace ctxfs
