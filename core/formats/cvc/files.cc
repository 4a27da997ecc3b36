// SPDX-License-Identifier: Apache-2.0
//
// Builds the files of a vector collection: columns/, .ctxfs/raw/chunks/ and
// views/sections/.
#include <cstdio>

#include "core/container/documents.h"
#include "core/container/file_set.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {
/// Returns the files columns/NAME: whole columns, decoded.
std::shared_ptr<const FileTable> Collection::ColumnFiles() const {
  const std::vector<Column>& columns = header_.columns;
  return MakeTable(
      {.placement = {.role = Role::kEntries, .directory = "columns"},
       .count = static_cast<uint32_t>(columns.size()),
       .path = [&columns](uint32_t column, std::string& /*scratch*/)
           -> std::string_view { return columns[column].name; },
       .open =
           [this, &columns](uint32_t column, const ReadContext& /*context*/) {
             return OpenColumn(columns[column]);
           },
       .facts =
           [this, &columns](uint32_t column) {
             return FileFacts{ColumnSize(columns[column]),
                              ColumnFault(columns[column])};
           },
       .describe =
           [this, &columns](uint32_t column, const ReadContext& /*context*/) {
             return DescribeColumn(columns[column]);
           },
       .owner = Share(*this)});
}

EntryInfo Collection::DescribePiece(uint32_t number) const {
  const Piece& piece = header_.pieces[number];
  const uint32_t chunk_number = ChunkOfPiece(number);
  const Chunk& chunk = header_.chunks[chunk_number];
  EntryInfo info;
  info.kind = "chunk";
  info.codec = CodecName(piece.codec);
  if (piece.HasBytes()) {
    info.size = piece.size;
    info.stored_size = piece.size;
    info.offset = chunk.payload + piece.offset;
  }
  if (piece.fault != Fault::kSound) info.note = FaultText(piece.fault);
  if (has_checksums() && chunk.fault == Fault::kSound) {
    // The checksum covers all columns of the chunk.
    info.checksum = Checksum{ChecksumKind::kCrc32, chunk.crc}.Text();
  }
  info.verified = ChunkVerified(chunk_number);
  return info;
}

Result<Content> Collection::OpenPiece(uint32_t number) const {
  const Piece& piece = header_.pieces[number];
  const uint32_t chunk = ChunkOfPiece(number);
  if (!piece.HasBytes()) return PieceError(chunk, piece.column);
  std::shared_ptr<const ChecksumGuard> guard;
  if (const std::optional<ChecksumGuard> found = GuardOf(chunk)) {
    guard = std::make_shared<const ChecksumGuard>(*found);
  }
  const uint64_t at = header_.chunks[chunk].payload + piece.offset;
  return Content(Range{source(), at, std::move(guard)}, piece.size);
}

/// Returns the files .ctxfs/raw/chunks/NNNNN/COLUMN: the stored bytes of a
/// column in a chunk.
std::shared_ptr<const FileTable> Collection::PieceFiles() const {
  return MakeTable({.placement = {.role = Role::kRaw, .directory = "chunks"},
                    .count = static_cast<uint32_t>(header_.pieces.size()),
                    .path = [this](uint32_t piece,
                                   std::string& scratch) -> std::string_view {
                      char directory[16];
                      std::snprintf(directory, sizeof(directory), "%05u/",
                                    ChunkOfPiece(piece));
                      scratch = directory;
                      return scratch +=
                             header_.columns[header_.pieces[piece].column].name;
                    },
                    .open =
                        [this](uint32_t piece, const ReadContext& /*context*/) {
                          return OpenPiece(piece);
                        },
                    .facts =
                        [this](uint32_t number) {
                          const Piece& piece = header_.pieces[number];
                          return FileFacts{piece.HasBytes() ? piece.size : 0};
                        },
                    .describe =
                        [this](uint32_t piece, const ReadContext& /*context*/) {
                          return DescribePiece(piece);
                        },
                    .owner = Share(*this)});
}

namespace {

uint64_t RowsOf(const Section& section) {
  uint64_t rows = 0;
  for (const auto& [begin, end] : section.ranges) rows += end - begin;
  return rows;
}

}  // namespace

Result<Content> Collection::OpenSection(const Section& section,
                                        const Column& column) const {
  if (std::optional<Error> fault = ColumnFault(column)) {
    return *std::move(fault);
  }
  Content content;
  for (const auto& [begin, end] : section.ranges) {
    const uint64_t rows = end - begin;
    if (rows == 0) continue;
    content.Append(
        Computed{DecodeRows(Share(*this), column.number, begin, rows)},
        rows * column.row_bytes());
  }
  return content;
}

EntryInfo Collection::DescribeSection(const Section& section,
                                      const Column& column) const {
  const uint64_t rows = RowsOf(section);
  EntryInfo info = DescribeColumn(column);
  info.name.reset();
  info.kind = "section";
  info.computed = true;
  info.size = IsUnreadable(column) ? 0 : rows * column.row_bytes();
  info.shape = Shape(column, rows);
  return info;
}

/// Returns the files views/sections/KEY=VALUE/COLUMN: the rows of a section,
/// decoded.
std::shared_ptr<const FileTable> Collection::SectionFiles() const {
  const std::vector<Section>& sections = header_.sections;
  const std::vector<Column>& columns = header_.columns;
  const auto section = [&sections, &columns](uint32_t file) -> const Section& {
    return sections[file / columns.size()];
  };
  const auto column = [&columns](uint32_t file) -> const Column& {
    return columns[file % columns.size()];
  };
  return MakeTable(
      {.placement = {.role = Role::kViews, .directory = "sections"},
       .count = static_cast<uint32_t>(sections.size() * columns.size()),
       .path = [section, column](uint32_t file,
                                 std::string& scratch) -> std::string_view {
         scratch = section(file).label;
         return (scratch += '/') += column(file).name;
       },
       .open =
           [this, section, column](uint32_t file,
                                   const ReadContext& /*context*/) {
             return OpenSection(section(file), column(file));
           },
       .facts =
           [this, section, column](uint32_t file) {
             const uint64_t size =
                 RowsOf(section(file)) * column(file).row_bytes();
             return FileFacts{IsUnreadable(column(file)) ? 0 : size};
           },
       .describe =
           [this, section, column](uint32_t file,
                                   const ReadContext& /*context*/) {
             return DescribeSection(section(file), column(file));
           },
       .owner = Share(*this)});
}

Container::Tables Collection::Files() const {
  return {ColumnFiles(),
          FixedFile(Role::kPrimary, "header.json",
                    Content(Range{source(), json_at_, nullptr}, json_size_)),
          PieceFiles(), SectionFiles()};
}

}  // namespace ctxfs::cvc
