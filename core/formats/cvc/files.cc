// SPDX-License-Identifier: Apache-2.0
//
// The files of a vector collection: columns/, .ctxfs/raw/chunks/ and
// views/sections/.
#include <cstdio>

#include "core/container/documents.h"
#include "core/container/listed_files.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {
namespace {

/// columns/NAME: whole columns, decoded.
class Columns final : public ListedFiles<Collection, Column> {
 public:
  using ListedFiles::ListedFiles;

  void AddFindings(uint32_t /*column*/, EntryInfo& info) const override {
    owner().AddVerdicts(info);
  }
};

/// .ctxfs/raw/chunks/NNNNN/COLUMN: the stored bytes of a column in a chunk.
class Chunks final : public FileTable {
 public:
  explicit Chunks(std::shared_ptr<const Collection> collection)
      : FileTable({.role = Role::kRaw, .directory = "chunks"}),
        collection_(std::move(collection)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(header().pieces.size());
  }

  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override {
    char directory[16];
    std::snprintf(directory, sizeof(directory), "%05u/",
                  collection_->ChunkOfPiece(file));
    scratch = directory;
    return scratch += header().columns[header().pieces[file].column].name;
  }

  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    const Piece& piece = header().pieces[file];
    return piece.HasBytes() ? piece.size : 0;
  }

  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    const Piece& piece = header().pieces[file];
    const uint32_t number = collection_->ChunkOfPiece(file);
    const Chunk& chunk = header().chunks[number];
    EntryInfo info;
    info.kind = "chunk";
    info.codec = CodecName(piece.codec);
    if (piece.HasBytes()) {
      info.size = piece.size;
      info.stored_size = piece.size;
      info.offset = chunk.payload + piece.offset;
    }
    if (piece.fault != Fault::kSound) info.note = FaultText(piece.fault);
    if (collection_->has_checksums() && chunk.fault == Fault::kSound) {
      // The checksum covers all columns of the chunk.
      info.checksum = Checksum{ChecksumKind::kCrc32, chunk.crc}.Text();
    }
    info.verified = collection_->ChunkVerified(number);
    return info;
  }

  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    const Piece& piece = header().pieces[file];
    const uint32_t chunk = collection_->ChunkOfPiece(file);
    if (!piece.HasBytes()) return collection_->PieceError(chunk, piece.column);
    std::shared_ptr<const ChecksumGuard> guard;
    if (const std::optional<ChecksumGuard> found =
            collection_->GuardOf(chunk)) {
      guard = std::make_shared<const ChecksumGuard>(*found);
    }
    const uint64_t at = header().chunks[chunk].payload + piece.offset;
    return Content(Range{collection_->source(), at, std::move(guard)},
                   piece.size);
  }

 private:
  const Header& header() const { return collection_->header(); }

  const std::shared_ptr<const Collection> collection_;
};

/// views/sections/KEY=VALUE/COLUMN: the rows of a section, decoded.
class Sections final : public FileTable {
 public:
  explicit Sections(std::shared_ptr<const Collection> collection)
      : FileTable({.role = Role::kViews, .directory = "sections"}),
        collection_(std::move(collection)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(header().sections.size() *
                                 header().columns.size());
  }

  std::optional<std::string_view> Path(uint32_t file,
                                       std::string& scratch) const override {
    scratch = SectionOf(file).label;
    return (scratch += '/') += ColumnOf(file).name;
  }

  std::optional<uint64_t> KnownSize(uint32_t file) const override {
    const Column& column = ColumnOf(file);
    return collection_->IsUnreadable(column) ? 0
                                             : Rows(file) * column.row_bytes();
  }

  std::optional<EntryInfo> Describe(
      uint32_t file, const ReadContext& /*context*/) const override {
    const Column& column = ColumnOf(file);
    EntryInfo info = collection_->DescribeFile(column);
    info.name.reset();
    info.kind = "section";
    info.computed = true;
    info.size = *KnownSize(file);
    info.shape = collection_->Shape(column, Rows(file));
    return info;
  }
  void AddFindings(uint32_t /*file*/, EntryInfo& info) const override {
    collection_->AddVerdicts(info);
  }

  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    const Column& column = ColumnOf(file);
    if (std::optional<Error> fault = collection_->FileFault(column)) {
      return *std::move(fault);
    }
    Content content;
    for (const auto& [begin, end] : SectionOf(file).ranges) {
      const uint64_t rows = end - begin;
      if (rows == 0) continue;
      content.Append(
          Computed{DecodeRows(collection_, column.number, begin, rows)},
          rows * column.row_bytes());
    }
    return content;
  }

 private:
  const Header& header() const { return collection_->header(); }
  const Section& SectionOf(uint32_t file) const {
    return header().sections[file / header().columns.size()];
  }
  const Column& ColumnOf(uint32_t file) const {
    return header().columns[file % header().columns.size()];
  }
  uint64_t Rows(uint32_t file) const {
    uint64_t rows = 0;
    for (const auto& [begin, end] : SectionOf(file).ranges) rows += end - begin;
    return rows;
  }

  const std::shared_ptr<const Collection> collection_;
};

}  // namespace

Container::Tables Collection::Files() const {
  return {std::make_shared<const Columns>(
              Placement{.role = Role::kEntries, .directory = "columns"},
              Share(*this), Share(header_.columns)),
          FixedFile(Role::kPrimary, "header.json",
                    Content(Range{source(), json_at_, nullptr}, json_size_)),
          std::make_shared<const Chunks>(Share(*this)),
          std::make_shared<const Sections>(Share(*this))};
}

}  // namespace ctxfs::cvc
