// SPDX-License-Identifier: Apache-2.0
//
// CVC, the compressed vector collection, every version (docs/cvc.md).
//
//   0    "CVCF"
//   4    version 0.1.0: u32 length of the JSON, which stands at 8
//        later: u16 major, u16 minor, u32 length of the JSON, which stands at
//        12
//   ...  the chunks, one after the other or each at its file_offset:
//        u32 length, u32 CRC-32 (not in 0.1.0), payload
#include "core/formats/cvc/cvc.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/base/limits.h"

namespace ctxfs {
namespace {

constexpr std::string_view kMagic = "CVCF";
constexpr uint64_t kVersionAt = 4;
constexpr uint64_t kOldJsonAt = 8;
constexpr uint64_t kLengthAt = 8;
constexpr uint64_t kJsonAt = 12;
constexpr uint64_t kOldPrefix = 4;

// How far to look for the JSON's first character: writers put it at once.
constexpr uint64_t kHeadBytes = 4096;

bool Probe(Bytes head) { return AsText(head).starts_with(kMagic); }

/// Whether the first character at `at` that is no blank opens an object.
bool OpensObject(Bytes head, uint64_t at) {
  if (at >= head.size()) return false;
  const std::string_view text = AsText(head).substr(static_cast<size_t>(at));
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Status CvcContainer::Load(const ReadContext& /*context*/) {
  for (const auto step :
       {&CvcContainer::ReadPrelude, &CvcContainer::ReadHeader,
        &CvcContainer::LocateChunks, &CvcContainer::CheckPieces}) {
    if (Status done = (this->*step)(); !done) return done;
  }
  return {};
}

// The version stands where 0.1.0 has the length of its header, and lengths
// such as 65537 look like versions: where the JSON begins tells them apart.
Status CvcContainer::ReadPrelude() {
  const uint64_t size = source()->size();
  Result<Buffer> head =
      ReadBuffer(*source(), 0, std::min(size, kHeadBytes), "prelude");
  if (!head) return std::move(head).error();
  const Error cut{Code::kCorrupt, "the file ends within the prelude", size};
  if (size < kOldJsonAt) return cut;
  const auto word = LoadLe<uint32_t>(head->data() + kVersionAt);
  const unsigned major = word & 0xFFFFU;
  const unsigned minor = word >> 16;
  const auto length =
      size < kJsonAt ? 0 : LoadLe<uint32_t>(head->data() + kLengthAt);

  bool versioned = major >= 1 && major <= 10 && minor <= 100;
  if (versioned && word > 2) {
    const bool reads_versioned = major <= 2 &&
                                 InBounds(kJsonAt, length, size) &&
                                 OpensObject(head->span(), kJsonAt);
    const bool reads_old = InBounds(kOldJsonAt, word, size) &&
                           OpensObject(head->span(), kOldJsonAt);
    versioned = reads_versioned || !reads_old;
    if (versioned && major > 2) {
      return Error{Code::kVersion,
                   "CVC version " + std::to_string(major) + "." +
                       std::to_string(minor) + " is not supported",
                   kVersionAt};
    }
  }
  if (versioned && size < kJsonAt) return cut;
  version_ = versioned ? std::to_string(major) + "." + std::to_string(minor)
                       : std::string("0.1");
  prefix_ = versioned ? prefix_ : kOldPrefix;
  json_at_ = versioned ? kJsonAt : kOldJsonAt;
  json_size_ = versioned ? length : word;
  return {};
}

Status CvcContainer::ReadHeader() {
  const uint64_t length_at = json_at_ - sizeof(uint32_t);
  if (!InBounds(json_at_, json_size_, source()->size())) {
    return Error{Code::kCorrupt,
                 "the header of " + std::to_string(json_size_) +
                     " bytes does not fit in the file of " +
                     std::to_string(source()->size()),
                 length_at};
  }
  if (json_size_ > limits::kJsonBytes) {
    return Error{Code::kLimit,
                 "the header of " + std::to_string(json_size_) +
                     " bytes is over the limit of " +
                     std::to_string(limits::kJsonBytes),
                 length_at};
  }
  Result<Buffer> text = ReadBuffer(*source(), json_at_, json_size_, "header");
  if (!text) return std::move(text).error();
  Result<CvcHeader> header = ParseCvcHeader(AsText(text->span()));
  if (!header) {
    Error error = std::move(header).error();
    error.offset = json_at_ + (error.offset == kNoOffset ? 0 : error.offset);
    return error;
  }
  header_ = std::move(*header);
  return {};
}

Status CvcContainer::LocateChunks() {
  verdicts_ =
      std::make_shared<std::vector<AtomicVerdict>>(header_.chunks.size());
  end_ = json_at_ + json_size_;
  return header_.has_offsets ? LocateByOffset() : LocateInOrder();
}

/// Reads the prefix at `at`, and whether the payload is all there.
Status CvcContainer::ReadPrefix(uint64_t at, CvcChunk& chunk) {
  const uint64_t size = source()->size();
  chunk.payload = at;
  chunk.fault = CvcFault::kTruncated;
  if (!InBounds(at, prefix_, size)) return {};
  std::array<std::byte, 8> prefix = {};
  const MutableBytes bytes = MutableBytes(prefix).first(prefix_);
  if (Status read = source()->ReadAt(at, bytes); !read) return read;
  ByteReader in(prefix);
  chunk.size = in.U32();
  chunk.crc = in.U32();
  chunk.payload = at + prefix_;
  if (InBounds(chunk.payload, chunk.size, size)) {
    chunk.fault = CvcFault::kSound;
  }
  return {};
}

Status CvcContainer::LocateInOrder() {
  bool found = true;
  for (CvcChunk& chunk : header_.chunks) {
    chunk.fault = CvcFault::kUnlocated;
    if (!found) continue;
    if (Status read = ReadPrefix(end_, chunk); !read) return read;
    found = chunk.fault == CvcFault::kSound;
    if (found) end_ = chunk.payload + chunk.size;
  }
  return {};
}

// The writer of these files puts a longer header over the first draft: it may
// run over the chunks that follow. The header itself is whole then.
Status CvcContainer::LocateByOffset() {
  for (CvcChunk& chunk : header_.chunks) {
    const uint64_t at = chunk.payload;
    if (at < end_) {
      chunk.fault = CvcFault::kInHeader;
    } else if (!InBounds(at, prefix_, source()->size())) {
      chunk.fault = CvcFault::kOutsideFile;
    } else if (Status read = ReadPrefix(at, chunk); !read) {
      return read;
    }
  }
  MarkOverlaps();
  return {};
}

void CvcContainer::MarkOverlaps() {
  std::vector<uint32_t> order(header_.chunks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    const uint64_t left = header_.chunks[a].payload;
    const uint64_t right = header_.chunks[b].payload;
    return left != right ? left < right : a < b;
  });
  uint64_t end = 0;
  for (const uint32_t i : order) {
    CvcChunk& chunk = header_.chunks[i];
    if (chunk.fault != CvcFault::kSound) continue;
    if (chunk.payload - prefix_ < end) {
      chunk.fault = CvcFault::kOverlap;
    } else {
      end = chunk.payload + chunk.size;
    }
  }
}

Status CvcContainer::CheckPieces() {
  for (uint32_t i = 0; i < header_.chunks.size(); ++i) {
    const bool has_rows = ChunkRows(i) > 0;
    if (has_rows) ++chunks_with_rows_;
    for (uint32_t k = header_.chunks[i].first_piece; k < PiecesEnd(i); ++k) {
      CvcPiece& piece = header_.pieces[k];
      if (!header_.columnar) piece.size = header_.chunks[i].size;
      Result<CvcFault> fault = FaultOf(i, piece);
      if (!fault) return std::move(fault).error();
      piece.fault = *fault;
      CvcColumn& column = header_.columns[piece.column];
      if (piece.HasBytes()) column.stored += piece.size;
      if (has_rows && piece.fault == CvcFault::kSound) ++column.sound;
    }
  }
  return {};
}

Result<CvcFault> CvcContainer::FaultOf(uint32_t chunk,
                                       const CvcPiece& piece) const {
  const CvcChunk& record = header_.chunks[chunk];
  if (record.fault != CvcFault::kSound) return record.fault;
  if (piece.fault == CvcFault::kOutsideChunk ||
      !InBounds(piece.offset, piece.size, record.size)) {
    return CvcFault::kOutsideChunk;
  }
  if (piece.fault != CvcFault::kSound) return piece.fault;
  const CvcColumn& column = header_.columns[piece.column];
  const std::optional<DType> decoded =
      piece.codec == CvcCodec::kNone ? column.declared : DType::kF32;
  if (decoded != column.dtype) return CvcFault::kDType;
  // The product fits: the header's rows and dimensions were checked.
  const uint64_t elements = ChunkRows(chunk) * column.dimension;
  uint64_t size = elements;
  switch (piece.codec) {
    case CvcCodec::kLossless:
      if (elements == 0) return CvcFault::kSound;
      return LosslessFault(record.payload + piece.offset, piece.size, elements);
    case CvcCodec::kFp16:
      size *= 2;
      break;
    case CvcCodec::kNone:
      size *= DTypeSize(*decoded);
      break;
    default:
      break;
  }
  return piece.size == size ? CvcFault::kSound : CvcFault::kWrongSize;
}

/// Whether the values that a lossless payload is said to have can be in it.
Result<CvcFault> CvcContainer::LosslessFault(uint64_t at, uint64_t size,
                                             uint64_t elements) const {
  std::array<std::byte, 8> head = {};
  if (size < head.size()) return CvcFault::kLosslessHead;
  if (Status read = source()->ReadAt(at, head); !read) {
    return std::move(read).error();
  }
  ByteReader in(head);
  if (in.U32() != elements) return CvcFault::kLosslessHead;
  uint64_t least = head.size();
  for (unsigned plane = 0; plane < 4; ++plane) {
    const unsigned width = in.U8();
    if (width < 1 || width > 8) return CvcFault::kLosslessHead;
    constexpr uint64_t kDictionary = 2 + 1;  // its size and one value
    least += kDictionary + (elements * width + 7) / 8;
  }
  return size < least ? CvcFault::kLosslessHead : CvcFault::kSound;
}

uint64_t CvcContainer::ChunkRows(uint32_t chunk) const {
  const uint64_t end = chunk + 1 < header_.chunks.size()
                           ? header_.chunks[chunk + 1].first_row
                           : header_.num_vectors;
  return end - header_.chunks[chunk].first_row;
}

uint32_t CvcContainer::ChunkOfRow(uint64_t row) const {
  const auto after = std::upper_bound(
      header_.chunks.begin(), header_.chunks.end(), row,
      [](uint64_t r, const CvcChunk& chunk) { return r < chunk.first_row; });
  return static_cast<uint32_t>(after - header_.chunks.begin() - 1);
}

uint32_t CvcContainer::PiecesEnd(uint32_t chunk) const {
  return chunk + 1 < header_.chunks.size()
             ? header_.chunks[chunk + 1].first_piece
             : static_cast<uint32_t>(header_.pieces.size());
}

uint32_t CvcContainer::ChunkOfPiece(uint32_t piece) const {
  const auto after = std::upper_bound(
      header_.chunks.begin(), header_.chunks.end(), piece,
      [](uint32_t p, const CvcChunk& chunk) { return p < chunk.first_piece; });
  return static_cast<uint32_t>(after - header_.chunks.begin() - 1);
}

const CvcPiece* CvcContainer::FindPiece(uint32_t chunk, uint32_t column) const {
  const auto begin = header_.pieces.begin() + header_.chunks[chunk].first_piece;
  const auto end = header_.pieces.begin() + PiecesEnd(chunk);
  const auto found = std::lower_bound(
      begin, end, column, [](const CvcPiece& piece, uint32_t wanted) {
        return piece.column < wanted;
      });
  return found != end && found->column == column ? &*found : nullptr;
}

std::optional<Gate> CvcContainer::GateOf(uint32_t chunk) const {
  if (!options_.verify || !has_checksums()) return std::nullopt;
  const CvcChunk& record = header_.chunks[chunk];
  return Gate({owner_, chunk},
              {source(),
               record.payload,
               record.size,
               {ChecksumKind::kCrc32, record.crc}},
              {verdicts_, &(*verdicts_)[chunk]});
}

uint64_t CvcContainer::EntrySize(uint32_t entry) const {
  const CvcColumn& column = header_.columns[entry];
  return IsUnreadable(column) ? 0 : header_.num_vectors * column.row_bytes();
}

Result<Content> CvcContainer::OpenEntry(uint32_t entry,
                                        const ReadContext& /*context*/) const {
  if (IsUnreadable(header_.columns[entry])) {
    return PieceError(ChunkOfRow(0), entry);
  }
  auto self = std::static_pointer_cast<const CvcContainer>(shared_from_this());
  Content content;
  if (const uint64_t size = EntrySize(entry); size > 0) {
    content.Append(
        Computed{CvcRows(std::move(self), entry, 0, header_.num_vectors)},
        size);
  }
  return content;
}

std::vector<std::shared_ptr<const DerivedFiles>> CvcContainer::Derived() const {
  auto self = std::static_pointer_cast<const CvcContainer>(shared_from_this());
  return {CvcChunkFiles(self), CvcSectionFiles(self)};
}

std::vector<ArrayInfo> CvcContainer::Arrays(
    const ReadContext& /*context*/) const {
  auto self = std::static_pointer_cast<const CvcContainer>(shared_from_this());
  std::vector<ArrayInfo> arrays;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    const CvcColumn& column = header_.columns[i];
    if (column.sound != chunks_with_rows_) continue;  // not all of it is there
    arrays.push_back({std::string(EntryDirectory()) + "/" + column.name,
                      column.dtype,
                      {header_.num_vectors, column.dimension},
                      [self, i](const ReadContext& context) {
                        return self->OpenEntry(i, context);
                      }});
  }
  return arrays;
}

std::optional<Table> CvcContainer::RowTable() const {
  auto self = std::static_pointer_cast<const CvcContainer>(shared_from_this());
  Table table;
  table.rows = header_.num_vectors;
  table.as_text = false;
  for (uint32_t i = 0; i < entry_count(); ++i) {
    const CvcColumn& column = header_.columns[i];
    if (column.sound != chunks_with_rows_) continue;
    TableColumn made;
    made.name = column.name;
    made.dtype = column.dtype;
    made.per_row = column.dimension;
    made.list = true;
    made.open = [self, i](const ReadContext& context) {
      return self->OpenEntry(i, context);
    };
    table.columns.push_back(std::move(made));
  }
  if (table.columns.empty()) return std::nullopt;
  return table;
}

namespace {

Result<std::shared_ptr<const Container>> Open(
    std::shared_ptr<const Source> source, const OpenOptions& options,
    const ReadContext& context) {
  auto container = std::make_shared<CvcContainer>(std::move(source), options);
  if (Status loaded = container->Load(context); !loaded) {
    return std::move(loaded).error();
  }
  return std::shared_ptr<const Container>(std::move(container));
}

}  // namespace

extern const Format kCvc;
const Format kCvc{"cvc", &Probe, &Open};

}  // namespace ctxfs
