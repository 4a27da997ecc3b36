// SPDX-License-Identifier: Apache-2.0
//
// Describes a vector collection (info.json) and its columns
// (docs/formats/cvc.md, section 6).
#include <fmt/core.h>

#include "core/base/text/text.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {
namespace {

// Maximum number of faults that get a warning each.
constexpr size_t kFaultsShown = 100;
// Chunks between two interrupt checks.
constexpr uint32_t kChunksACheck = 16'384;

}  // namespace

std::string_view FaultText(Fault fault) {
  constexpr std::string_view kTexts[] = {
      "sound",
      "the compression is unknown",
      "min is not a number",
      "scale is not a number",
      "the stored size is not the one that its rows require",
      "the dtype is unknown, or is not that of the column",
      "the lossless data has another count of values, a code width other than "
      "1 to 8, or too few bytes",
      "the column is not in the chunk",
      "offset and size are not within the chunk",
      "the file ends within the chunk",
      "an earlier chunk is damaged, so this one cannot be found",
      "the header was written over the chunk",
      "file_offset is outside the file",
      "the chunk overlaps another"};
  return kTexts[static_cast<size_t>(fault)];
}

Error Collection::PieceError(uint32_t chunk, uint32_t column) const {
  const Piece* piece = FindPiece(chunk, column);
  const Chunk& record = header_.chunks[chunk];
  Fault fault = piece != nullptr ? piece->fault : Fault::kNoLocation;
  if (piece == nullptr && record.fault != Fault::kSound) {
    fault = record.fault;
  }
  uint64_t offset = json_at_;
  if (fault < Fault::kNoLocation) offset = record.payload + piece->offset;
  if (fault == Fault::kTruncated) offset = record.payload;
  return {Code::kCorrupt,
          fmt::format("chunk {} of column {}: {}", chunk,
                      Quote(header_.columns[column].name), FaultText(fault)),
          offset};
}

void Collection::AddInfo(Json& info, const ReadContext& context) const {
  Json warnings = header_.warnings;
  if (!has_checksums()) {
    warnings.push_back("this version has no checksums: damage is not detected");
  }
  uint64_t stored = 0;
  uint64_t decoded = 0;
  uint64_t unreadable = 0;  // parts of columns
  for (const Column& column : header_.columns) {
    stored += column.stored;
    decoded += ColumnSize(column);
    unreadable += chunks_with_rows_ - column.sound;
    if (column.sound == chunks_with_rows_) continue;
    for (uint32_t chunk = 0; chunk < header_.chunks.size(); ++chunk) {
      if (warnings.size() >= kFaultsShown) break;
      if (chunk % kChunksACheck == 0 && !context.Check()) break;
      const Piece* piece = FindPiece(chunk, column.number);
      const bool sound = piece != nullptr && piece->fault == Fault::kSound;
      if (sound || ChunkRows(chunk) == 0) continue;
      warnings.push_back(PieceError(chunk, column.number).Text());
    }
  }
  for (Json& text : WarningTexts()) warnings.push_back(std::move(text));
  info.update({{"format", "cvc"},
               {"version", version_},
               {"layout", header_.columnar ? "columnar" : "single"},
               {"chunks_by_file_offset", header_.has_offsets},
               {"rows", header_.num_vectors},
               {"entries", header_.columns.size()},
               {"chunks", header_.chunks.size()},
               {"sections", header_.sections.size()},
               {"parts_unreadable", unreadable},
               {"header_size", json_size_},
               {"stored_size", stored},
               {"decoded_size", decoded},
               {"salvaged", options_.salvage},
               {"warnings", std::move(warnings)}});
}

std::optional<Error> Collection::ColumnFault(const Column& column) const {
  if (!IsUnreadable(column)) return std::nullopt;
  return PieceError(ChunkOfRow(0), column.number);
}

EntryInfo Collection::DescribeColumn(const Column& column) const {
  EntryInfo info;
  info.name = column.name;
  info.kind = "column";
  info.size = ColumnSize(column);
  info.stored_size = column.stored;
  info.offset = column.offset != 0 ? column.offset : json_at_ + json_size_;
  info.codec = column.codec_text;
  if (HasDType(column)) info.dtype = DTypeName(column.dtype);
  info.shape = Shape(column, header_.num_vectors);
  info.extra["stored_dtype"] = column.dtype_text;
  info.extra["chunks"] = header_.chunks.size();
  const uint64_t bad = chunks_with_rows_ - column.sound;
  if (bad > 0) {
    info.extra["chunks_unreadable"] = bad;
    info.note = fmt::format("{} of its chunks cannot be read", bad);
  }
  if (!HasDType(column)) {
    const bool none = column.codec == Codec::kNone;
    info.note = (none ? "the dtype " : "the compression ") +
                Quote(none ? column.dtype_text : column.codec_text) +
                " is unknown";
  }
  const bool has_any = has_checksums() && !header_.chunks.empty();
  info.verified = has_any ? "no" : "none";
  info.add_findings = [this](EntryInfo& found, const Request& /*request*/) {
    AddVerdicts(found);
  };
  return info;
}

// This function is separate from DescribeColumn, because index.json describes
// every column without verdicts, and a header of a few megabytes can have
// 65,536 columns and a million chunks.
void Collection::AddVerdicts(EntryInfo& info) const {
  if (info.verified == "none") return;
  info.verified = "yes";
  for (const AtomicVerdict& verdict : *verdicts_) {
    const Verdict found = verdict.load(std::memory_order_acquire);
    if (found == Verdict::kFailed) info.verified = "failed";
    if (found == Verdict::kFailed) break;
    if (found == Verdict::kUnknown) info.verified = "no";
  }
}

std::string Collection::ChunkVerified(uint32_t chunk) const {
  if (!has_checksums()) return "none";
  return VerifiedText((*verdicts_)[chunk].load(std::memory_order_acquire));
}

}  // namespace ctxfs::cvc
