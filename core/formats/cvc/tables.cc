// SPDX-License-Identifier: Apache-2.0
//
// Builds the tables of a vector collection from the parsed header
// (docs/formats/cvc.md, sections 2 and 4).
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/base/heap/heap_allowance.h"
#include "core/base/json/json.h"
#include "core/base/text/text.h"
#include "core/formats/cvc/draft.h"
#include "core/formats/cvc/limits.h"

namespace ctxfs::cvc {
namespace {

std::optional<DType> DTypeOfText(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"float32", DType::kF32}, {"float16", DType::kF16},
      {"int32", DType::kI32},   {"int64", DType::kI64},
      {"int8", DType::kI8},     {"uint8", DType::kU8}};
  for (const auto& [text, dtype] : kTypes) {
    if (text == name) return dtype;
  }
  return std::nullopt;
}

class Maker {
 public:
  Maker(Draft draft, const Request& request)
      : request_(request), draft_(std::move(draft)) {}
  Result<Header> Finish();

 private:
  Status FinishColumns();
  Status FinishRows();
  Status FinishPieces();
  Status FinishSections();

  const Request& request_;
  Draft draft_;
  Header header_;
};

Status Maker::FinishColumns() {
  if (!header_.columnar) {
    const std::optional<uint64_t> dimension = CountAt(draft_.top, "dimension");
    const std::optional<std::string> codec =
        JsonText(draft_.top, "compression");
    if (!dimension || *dimension == 0) {
      return Corrupt("dimension is not a positive number");
    }
    if (!codec) return Corrupt("compression is not a name");
    header_.columns.push_back({.name = "vectors",
                               .dimension = *dimension,
                               .dtype_text = "float32",
                               .codec_text = *codec});
  } else {
    if (!draft_.top.contains("columns") || !draft_.top["columns"].is_array()) {
      return Corrupt("columns is not an array");
    }
    std::set<std::string> names;
    for (const Json& object : draft_.columns) {
      CTXFS_TRY(request_.CheckMemory());
      const std::string which =
          fmt::format("column {}: ", header_.columns.size());
      if (!object.is_object()) return Corrupt(which + "is not an object");
      const std::optional<std::string> name = JsonText(object, "name");
      const std::optional<uint64_t> dimension = CountAt(object, "dimension");
      const std::optional<std::string> dtype = JsonText(object, "dtype");
      const std::optional<std::string> codec = JsonText(object, "compression");
      if (!name || !dtype || !codec) {
        return Corrupt(which + "name, dtype or compression is not a text");
      }
      if (!dimension || *dimension == 0) {
        return Corrupt(which + "dimension is not a positive number");
      }
      if (!names.insert(*name).second) {
        return Corrupt(which + "the name " + Quote(*name) + " is taken");
      }
      header_.columns.push_back({.name = *name,
                                 .dimension = *dimension,
                                 .dtype_text = *dtype,
                                 .codec_text = *codec});
    }
  }
  uint32_t number = 0;
  for (Column& column : header_.columns) {
    column.number = number++;
    column.codec = CodecOf(column.codec_text);
    column.declared = DTypeOfText(column.dtype_text);
    if (column.codec == Codec::kNone && column.declared) {
      column.dtype = *column.declared;
    }
  }
  return {};
}

Status Maker::FinishRows() {
  constexpr uint64_t kLargestElement = 8;
  uint64_t rows = 0;
  for (Chunk& chunk : draft_.chunks) {
    const uint64_t own = std::exchange(chunk.first_row, rows);
    const std::optional<uint64_t> sum = CheckedAdd(rows, own);
    rows = sum.value_or(UINT64_MAX);
    if (!sum) break;
  }
  if (rows != header_.num_vectors) {
    return Corrupt(fmt::format("num_vectors is {}, but the chunks have {} rows",
                               header_.num_vectors, rows));
  }
  for (const Column& column : header_.columns) {
    const uint64_t row =
        CheckedMul(column.dimension, kLargestElement).value_or(UINT64_MAX);
    const uint64_t size =
        CheckedMul(row, std::max<uint64_t>(rows, 1)).value_or(UINT64_MAX);
    if (size > static_cast<uint64_t>(INT64_MAX)) {
      return Corrupt(fmt::format("column {} of {} rows of {} is too large",
                                 Quote(column.name), rows, column.dimension));
    }
  }
  return {};
}

Status Maker::FinishPieces() {
  std::unordered_map<std::string_view, uint32_t> listed;
  for (uint32_t i = 0; i < header_.columns.size(); ++i) {
    listed.emplace(header_.columns[i].name, i);
  }
  std::vector<uint32_t> column_of;  // by index in Draft::names
  for (const std::string& name : draft_.names) {
    const auto found = listed.find(name);
    column_of.push_back(found != listed.end() ? found->second
                                              : Draft::kWholeChunk);
  }
  for (size_t i = 0; i < draft_.chunks.size(); ++i) {
    CTXFS_TRY(request_.CheckMemory());
    const size_t end = i + 1 < draft_.chunks.size()
                           ? draft_.chunks[i + 1].first_piece
                           : draft_.raw.size();
    const size_t first = draft_.chunks[i].first_piece;
    const size_t kept = header_.pieces.size();
    for (size_t k = first; k < end; ++k) {
      Draft::RawPiece& raw = draft_.raw[k];
      const bool whole = raw.piece.column == Draft::kWholeChunk;
      if (whole == header_.columnar) continue;
      const uint32_t column = whole ? 0 : column_of[raw.piece.column];
      if (column == Draft::kWholeChunk) continue;  // absent from `columns`
      raw.piece.column = column;
      if (raw.inherits) raw.piece.codec = header_.columns[column].codec;
      if (raw.piece.fault == Fault::kSound) {
        if (raw.piece.codec == Codec::kUnknown) {
          raw.piece.fault = Fault::kUnknownCodec;
        } else if (raw.piece.codec == Codec::kInt8) {
          if (!raw.has_min) raw.piece.fault = Fault::kNoMin;
          if (!raw.has_scale) raw.piece.fault = Fault::kNoScale;
        }
      }
      header_.pieces.push_back(raw.piece);
    }
    draft_.chunks[i].first_piece = static_cast<uint32_t>(kept);
    std::sort(header_.pieces.begin() + static_cast<std::ptrdiff_t>(kept),
              header_.pieces.end(),
              [](const auto& a, const auto& b) { return a.column < b.column; });
  }
  header_.chunks = std::move(draft_.chunks);
  return {};
}

Status Maker::FinishSections() {
  if (draft_.labels > kMaxLabels ||
      draft_.sections.size() * header_.columns.size() > kMaxSectionFiles) {
    header_.warnings.emplace_back("sections are not shown: there are too many");
    return {};
  }
  for (auto& [key, section] : draft_.sections) {
    CTXFS_TRY(request_.CheckMemory());
    // Valid ranges do not overlap, so their sum is at most the number of rows.
    uint64_t left = header_.num_vectors;
    const auto is_bad = [&](const auto& range) {
      const uint64_t rows = range.second - range.first;
      if (range.second > header_.num_vectors || rows > left) return true;
      left -= rows;
      return false;
    };
    const size_t before = section.ranges.size();
    const auto sound =
        std::remove_if(section.ranges.begin(), section.ranges.end(), is_bad);
    section.ranges.erase(sound, section.ranges.end());
    draft_.bad_sections += before - section.ranges.size();
    if (!section.ranges.empty()) {
      header_.sections.push_back(std::move(section));
    }
  }
  if (draft_.bad_sections > 0) {
    header_.warnings.push_back(
        fmt::format("{} sections have a range of rows that is not valid",
                    draft_.bad_sections));
  }
  return {};
}

Result<Header> Maker::Finish() {
  if (!draft_.is_object) return Corrupt("the header is not a JSON object");
  if (draft_.limit_error) return *std::move(draft_.limit_error);
  const std::string format =
      draft_.top.contains("format_type")
          ? JsonText(draft_.top, "format_type").value_or("?")
          : "single";
  if (format != "single" && format != "columnar") {
    return Corrupt("format_type is neither single nor columnar");
  }
  header_.columnar = format == "columnar";
  const std::optional<uint64_t> rows = CountAt(draft_.top, "num_vectors");
  if (!rows) return Corrupt("num_vectors is not a count");
  header_.num_vectors = *rows;
  if (!draft_.top.contains("chunks") || !draft_.top["chunks"].is_array()) {
    return Corrupt("chunks is not an array");
  }
  if (draft_.chunk_error) return *std::move(draft_.chunk_error);
  const auto flag = draft_.top.find("mmap_optimized");
  const bool flagged = flag != draft_.top.end() && *flag == true;
  if ((draft_.with_offset > 0 || flagged) &&
      draft_.with_offset != draft_.chunks.size()) {
    return Corrupt(fmt::format("{} of {} chunks have a file_offset",
                               draft_.with_offset, draft_.chunks.size()));
  }
  header_.has_offsets = draft_.with_offset > 0;
  CTXFS_TRY(FinishColumns());
  CTXFS_TRY(FinishRows());
  CTXFS_TRY(FinishPieces());
  CTXFS_TRY(FinishSections());
  return std::move(header_);
}

}  // namespace

std::string_view CodecName(Codec codec) {
  constexpr std::string_view kNames[] = {"fp16", "int8", "none", "lossless",
                                         "unknown"};
  return kNames[static_cast<size_t>(codec)];
}

Codec CodecOf(std::string_view name) {
  for (const Codec codec :
       {Codec::kFp16, Codec::kInt8, Codec::kNone, Codec::kLossless}) {
    if (CodecName(codec) == name) return codec;
  }
  return Codec::kUnknown;
}

Result<Header> MakeTables(Draft draft, const Request& request) {
  return Maker(std::move(draft), request).Finish();
}

}  // namespace ctxfs::cvc
