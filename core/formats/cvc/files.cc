// SPDX-License-Identifier: Apache-2.0
//
// The files of a CVC container besides its columns: chunks/ and sections/.
#include <cstdio>

#include "core/formats/cvc/cvc.h"

namespace ctxfs {
namespace {

class ChunkFiles final : public DerivedFiles {
 public:
  explicit ChunkFiles(std::shared_ptr<const CvcContainer> container)
      : container_(std::move(container)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(header().pieces.size());
  }

  std::optional<std::string> Path(uint32_t file) const override {
    char directory[32];
    std::snprintf(directory, sizeof(directory), "chunks/%05u/",
                  container_->ChunkOfPiece(file));
    return directory + header().columns[header().pieces[file].column].name;
  }

  Result<uint64_t> Size(uint32_t file,
                        const ReadContext& /*context*/) const override {
    const CvcPiece& piece = header().pieces[file];
    return piece.HasBytes() ? piece.size : 0;
  }

  EntryInfo Describe(uint32_t file) const override {
    const CvcPiece& piece = header().pieces[file];
    const uint32_t number = container_->ChunkOfPiece(file);
    const CvcChunk& chunk = header().chunks[number];
    EntryInfo info;
    info.kind = "chunk";
    info.codec = CvcCodecName(piece.codec);
    if (piece.HasBytes()) {
      info.size = piece.size;
      info.stored_size = piece.size;
      info.offset = chunk.payload + piece.offset;
    }
    if (piece.fault != CvcFault::kSound) info.note = CvcFaultText(piece.fault);
    if (container_->has_checksums() && chunk.fault == CvcFault::kSound) {
      // Of all the chunk's bytes, where it has several columns.
      info.checksum = Checksum{ChecksumKind::kCrc32, chunk.crc}.Text();
    }
    info.verified = container_->VerifiedText(number);
    return info;
  }

  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    const CvcPiece& piece = header().pieces[file];
    const uint32_t chunk = container_->ChunkOfPiece(file);
    if (!piece.HasBytes()) return container_->PieceError(chunk, piece.column);
    std::shared_ptr<const Gate> gate;
    if (const std::optional<Gate> found = container_->GateOf(chunk)) {
      gate = std::make_shared<const Gate>(*found);
    }
    Content content;
    content.Append(
        Range{container_->source(),
              header().chunks[chunk].payload + piece.offset, std::move(gate)},
        piece.size);
    return content;
  }

 private:
  const CvcHeader& header() const { return container_->header(); }

  std::shared_ptr<const CvcContainer> container_;
};

class SectionFiles final : public DerivedFiles {
 public:
  explicit SectionFiles(std::shared_ptr<const CvcContainer> container)
      : container_(std::move(container)) {}

  uint32_t count() const override {
    return static_cast<uint32_t>(header().sections.size() *
                                 header().columns.size());
  }

  std::optional<std::string> Path(uint32_t file) const override {
    return "sections/" + Section(file).label + "/" +
           header().columns[Column(file)].name;
  }

  Result<uint64_t> Size(uint32_t file,
                        const ReadContext& /*context*/) const override {
    const CvcColumn& column = header().columns[Column(file)];
    if (container_->IsUnreadable(column)) return uint64_t{0};
    return Rows(file) * column.row_bytes();
  }

  EntryInfo Describe(uint32_t file) const override {
    const CvcColumn& column = header().columns[Column(file)];
    const uint64_t rows = Rows(file);
    EntryInfo info = container_->Describe(Column(file));
    info.name.reset();
    info.kind = "section";
    info.size =
        container_->IsUnreadable(column) ? 0 : rows * column.row_bytes();
    info.shape = {rows, column.dimension};
    return info;
  }

  Result<Content> Open(uint32_t file,
                       const ReadContext& /*context*/) const override {
    const uint32_t number = Column(file);
    const CvcColumn& column = header().columns[number];
    if (container_->IsUnreadable(column)) {
      return container_->PieceError(container_->ChunkOfRow(0), number);
    }
    Content content;
    for (const auto& [begin, end] : Section(file).ranges) {
      const uint64_t rows = end - begin;
      if (rows == 0) continue;
      content.Append(Computed{CvcRows(container_, number, begin, rows)},
                     rows * column.row_bytes());
    }
    return content;
  }

 private:
  const CvcHeader& header() const { return container_->header(); }
  const CvcSection& Section(uint32_t file) const {
    return header().sections[file / header().columns.size()];
  }
  uint32_t Column(uint32_t file) const {
    return static_cast<uint32_t>(file % header().columns.size());
  }
  uint64_t Rows(uint32_t file) const {
    uint64_t rows = 0;
    for (const auto& [begin, end] : Section(file).ranges) rows += end - begin;
    return rows;
  }

  std::shared_ptr<const CvcContainer> container_;
};

}  // namespace

std::shared_ptr<const DerivedFiles> CvcChunkFiles(
    std::shared_ptr<const CvcContainer> container) {
  return std::make_shared<const ChunkFiles>(std::move(container));
}

std::shared_ptr<const DerivedFiles> CvcSectionFiles(
    std::shared_ptr<const CvcContainer> container) {
  return std::make_shared<const SectionFiles>(std::move(container));
}

}  // namespace ctxfs
