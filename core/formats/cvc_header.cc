// SPDX-License-Identifier: Apache-2.0
//
// The JSON header of a vector collection (docs/cvc.md, section 2), made into
// tables while it is parsed: a header may have a million chunks, and its keys
// stand in any order.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/formats/cvc.h"

namespace ctxfs {
namespace {

/// A piece's column that is the chunk itself: all there is to a chunk of a
/// single-column file.
constexpr uint32_t kWholeChunk = UINT32_MAX;

constexpr std::string_view kTopKeys[] = {
    "num_vectors",    "dimension", "compression", "format_type",
    "mmap_optimized", "chunks",    "columns",     "sections"};
constexpr std::string_view kElementKeys[] = {
    "rows",      "file_offset", "min",    "scale", "compression", "name",
    "dimension", "dtype",       "offset", "size",  "start_index", "end_index"};

template <size_t N>
bool Contains(const std::string_view (&keys)[N], std::string_view key) {
  return std::find(keys, keys + N, key) != keys + N;
}

/// The whole number at `key` that is not negative.
std::optional<uint64_t> Count(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

std::optional<std::string> Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// Rounded once, from the double that the decimal is; too large is infinite.
std::optional<float> Float(const Json& object, const char* key) {
  static_assert(std::numeric_limits<float>::is_iec559);
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return static_cast<float>(found->get<double>());
}

CvcCodec CodecOf(std::string_view name) {
  for (const CvcCodec codec : {CvcCodec::kFp16, CvcCodec::kInt8,
                               CvcCodec::kNone, CvcCodec::kLossless}) {
    if (CvcCodecName(codec) == name) return codec;
  }
  return CvcCodec::kUnknown;
}

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

Error Corrupt(std::string what) { return {Code::kCorrupt, std::move(what), 0}; }
Error TooMany(std::string what, uint64_t limit) {
  return {Code::kLimit,
          "more " + what + " than the limit of " + std::to_string(limit), 0};
}

/// A chunk's part as it comes in, before the columns are known.
struct RawPiece {
  CvcPiece piece;
  bool inherits = false;  // has no codec of its own
  bool has_min = false;
  bool has_scale = false;
};

class HeaderVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool is_array) override;
  void Leave(const Path& path) override;
  void Scalar(const Path& path, Json value) override;
  Result<CvcHeader> Finish();

 private:
  /// Puts a value down by its path. Objects and arrays come as empty ones.
  void Put(const Path& path, Json value);
  void Reset(const std::string& table);
  void FinishElement(const std::string& table);
  void FinishChunk();
  void FinishSection();
  void AddPiece(uint32_t column, const Json& object);
  uint32_t NameId(const std::string& name);

  Status FinishColumns();
  Status FinishRows();
  void FinishPieces();
  void FinishSections();

  bool is_object_ = false;
  Json top_ = Json::object();
  Json element_;              // of the table we are in, as far as it is known
  Json piece_;                // of the chunk we are in
  Json columns_;              // complete ones
  size_t pieces_before_ = 0;  // this chunk
  uint64_t with_offset_ = 0;  // chunks
  std::optional<Error> chunk_error_;
  std::optional<Error> limit_error_;
  std::deque<CvcChunk> chunks_;  // first_row is the number of rows for now
  std::deque<RawPiece> raw_;
  std::vector<std::string> names_;  // of columns in chunks
  std::unordered_map<std::string, uint32_t> name_ids_;
  std::map<std::pair<std::string, std::string>, CvcSection> sections_;
  uint64_t labels_ = 0;
  uint64_t bad_sections_ = 0;
  std::vector<std::string> warnings_;
  CvcHeader header_;
};

bool HeaderVisitor::Enter(const Path& path, bool is_array) {
  Put(path, is_array ? Json::array() : Json::object());
  switch (path.size()) {
    case 0:
      is_object_ = !is_array;
      return is_object_;
    case 1:
      return is_array && (path[0] == "chunks" || path[0] == "columns" ||
                          path[0] == "sections");
    case 2:
      return !is_array;
    case 3:
      return !is_array && ((path[0] == "chunks" && path[2] == "columns") ||
                           (path[0] == "sections" && path[2] == "metadata"));
    case 4:
      return !is_array && path[0] == "chunks";
    default:
      return false;
  }
}

void HeaderVisitor::Scalar(const Path& path, Json value) {
  Put(path, std::move(value));
}

void HeaderVisitor::Put(const Path& path, Json value) {
  switch (path.size()) {
    case 1:
      if (!Contains(kTopKeys, path[0])) return;
      Reset(path[0]);
      top_[path[0]] = std::move(value);
      return;
    case 2:
      element_ = std::move(value);
      pieces_before_ = raw_.size();
      if (!element_.is_object()) FinishElement(path[0]);
      return;
    case 3:
      if (path[0] == "chunks" && path[2] == "columns") {
        raw_.resize(pieces_before_);
      } else if (path[0] == "sections" && path[2] == "metadata") {
        element_["metadata"] = std::move(value);
      } else if (Contains(kElementKeys, path[2])) {
        element_[path[2]] = std::move(value);
      }
      return;
    case 4:
      if (path[0] == "chunks") {
        piece_ = std::move(value);
        if (!piece_.is_object()) AddPiece(NameId(path[3]), Json::object());
      } else if (value.is_structured()) {
        element_["metadata"].erase(path[3]);  // no label, and the last wins
      } else if (element_["metadata"].size() < limits::kCvcLabels) {
        element_["metadata"][path[3]] = std::move(value);
      }
      return;
    case 5:
      if (Contains(kElementKeys, path[4])) piece_[path[4]] = std::move(value);
      return;
    default:
      return;
  }
}

void HeaderVisitor::Leave(const Path& path) {
  if (path.size() == 2) FinishElement(path[0]);
  if (path.size() == 4) AddPiece(NameId(path[3]), piece_);
}

void HeaderVisitor::Reset(const std::string& table) {
  if (table == "chunks") {
    chunks_.clear();
    raw_.clear();
    with_offset_ = 0;
    chunk_error_.reset();
  } else if (table == "columns") {
    columns_ = Json::array();
  } else if (table == "sections") {
    sections_.clear();
    labels_ = 0;
    bad_sections_ = 0;
  }
}

void HeaderVisitor::FinishElement(const std::string& table) {
  if (table == "chunks") {
    FinishChunk();
  } else if (table == "columns") {
    columns_.push_back(std::move(element_));
    if (columns_.size() > limits::kCvcColumns) {
      limit_error_ = TooMany("columns", limits::kCvcColumns);
      columns_.clear();
    }
  } else {
    FinishSection();
  }
}

uint32_t HeaderVisitor::NameId(const std::string& name) {
  const auto next = static_cast<uint32_t>(names_.size());
  const auto [found, added] = name_ids_.try_emplace(name, next);
  if (!added) return found->second;
  if (names_.size() >= limits::kCvcColumns) {
    name_ids_.erase(found);
    limit_error_ = TooMany("columns", limits::kCvcColumns);
    return 0;
  }
  names_.push_back(name);
  return next;
}

void HeaderVisitor::AddPiece(uint32_t column, const Json& object) {
  if (raw_.size() >= limits::kCvcPieces) {
    limit_error_ = TooMany("parts of columns", limits::kCvcPieces);
    return;
  }
  RawPiece raw;
  raw.piece.column = column;
  const std::optional<float> min = Float(object, "min");
  const std::optional<float> scale = Float(object, "scale");
  raw.has_min = min.has_value();
  raw.has_scale = scale.has_value();
  raw.piece.min = min.value_or(0);
  raw.piece.scale = scale.value_or(0);
  raw.inherits = !object.contains("compression");
  raw.piece.codec = CodecOf(Text(object, "compression").value_or(""));
  if (column != kWholeChunk) {
    const uint64_t offset = Count(object, "offset").value_or(UINT64_MAX);
    const uint64_t size = Count(object, "size").value_or(UINT64_MAX);
    // A payload is shorter than 4 GiB.
    if (offset > UINT32_MAX || size > UINT32_MAX) {
      raw.piece.fault = CvcFault::kOutsideChunk;
    } else {
      raw.piece.offset = static_cast<uint32_t>(offset);
      raw.piece.size = static_cast<uint32_t>(size);
    }
  }
  raw_.push_back(raw);
}

void HeaderVisitor::FinishChunk() {
  const std::optional<uint64_t> rows = Count(element_, "rows");
  if (!rows) {
    chunk_error_ = Corrupt("chunk " + std::to_string(chunks_.size()) +
                           ": rows is not a count");
    return;
  }
  if (chunks_.size() >= limits::kCvcChunks) {
    limit_error_ = TooMany("chunks", limits::kCvcChunks);
    return;
  }
  // Of a column that is there twice the last wins.
  const auto begin = raw_.begin() + static_cast<std::ptrdiff_t>(pieces_before_);
  if (raw_.end() - begin > 1) {
    const auto column = [](const RawPiece& raw) { return raw.piece.column; };
    std::stable_sort(begin, raw_.end(), [&](const auto& a, const auto& b) {
      return column(a) < column(b);
    });
    auto kept = begin;
    for (auto next = begin; next != raw_.end(); ++next) {
      if (next != begin && column(*next) != column(*kept)) ++kept;
      *kept = *next;
    }
    raw_.erase(kept + 1, raw_.end());
  }
  CvcChunk chunk;
  chunk.first_row = *rows;
  chunk.first_piece = static_cast<uint32_t>(pieces_before_);
  if (element_.contains("file_offset")) {
    ++with_offset_;
    chunk.payload = Count(element_, "file_offset").value_or(UINT64_MAX);
  }
  chunks_.push_back(chunk);
  AddPiece(kWholeChunk, element_);
}

void HeaderVisitor::FinishSection() {
  const std::optional<uint64_t> start = Count(element_, "start_index");
  const std::optional<uint64_t> end = Count(element_, "end_index");
  if (!start || !end || *start > *end) {
    ++bad_sections_;
    return;
  }
  const auto metadata = element_.find("metadata");
  if (metadata == element_.end() || !metadata->is_object()) return;
  for (const auto& [key, value] : metadata->items()) {
    if (++labels_ > limits::kCvcLabels) return;
    // Values that differ are different sections even where they read alike.
    const std::string dump =
        value.is_string() ? "\"" + value.get<std::string>() : value.dump();
    CvcSection& section = sections_[{key, dump}];
    section.label = key + "=" + (value.is_string() ? dump.substr(1) : dump);
    section.ranges.emplace_back(*start, *end);
  }
}

Status HeaderVisitor::FinishColumns() {
  if (!header_.columnar) {
    const std::optional<uint64_t> dimension = Count(top_, "dimension");
    const std::optional<std::string> codec = Text(top_, "compression");
    if (!dimension || *dimension == 0) {
      return Corrupt("dimension is not a positive number");
    }
    if (!codec) return Corrupt("compression is not a name");
    CvcColumn column;
    column.name = "vectors";
    column.dimension = *dimension;
    column.dtype_text = "float32";
    column.codec_text = *codec;
    header_.columns.push_back(std::move(column));
  } else {
    if (!top_.contains("columns") || !top_["columns"].is_array()) {
      return Corrupt("columns is not an array");
    }
    std::set<std::string> names;
    for (const Json& object : columns_) {
      const std::string which =
          "column " + std::to_string(header_.columns.size()) + ": ";
      if (!object.is_object()) return Corrupt(which + "is not an object");
      const std::optional<std::string> name = Text(object, "name");
      const std::optional<uint64_t> dimension = Count(object, "dimension");
      const std::optional<std::string> dtype = Text(object, "dtype");
      const std::optional<std::string> codec = Text(object, "compression");
      if (!name || !dtype || !codec) {
        return Corrupt(which + "name, dtype or compression is not a text");
      }
      if (!dimension || *dimension == 0) {
        return Corrupt(which + "dimension is not a positive number");
      }
      if (!names.insert(*name).second) {
        return Corrupt(which + "the name " + Quote(*name) + " is taken");
      }
      CvcColumn column;
      column.name = *name;
      column.dimension = *dimension;
      column.dtype_text = *dtype;
      column.codec_text = *codec;
      header_.columns.push_back(std::move(column));
    }
  }
  for (CvcColumn& column : header_.columns) {
    column.codec = CodecOf(column.codec_text);
    column.declared = DTypeOfText(column.dtype_text);
    if (column.codec == CvcCodec::kNone && column.declared) {
      column.dtype = *column.declared;
    }
  }
  return {};
}

Status HeaderVisitor::FinishRows() {
  constexpr uint64_t kLargestElement = 8;
  uint64_t rows = 0;
  for (CvcChunk& chunk : chunks_) {
    const uint64_t own = std::exchange(chunk.first_row, rows);
    const std::optional<uint64_t> sum = CheckedAdd(rows, own);
    rows = sum.value_or(UINT64_MAX);
    if (!sum) break;
  }
  if (rows != header_.num_vectors) {
    return Corrupt("num_vectors is " + std::to_string(header_.num_vectors) +
                   ", but the chunks have " + std::to_string(rows) + " rows");
  }
  for (const CvcColumn& column : header_.columns) {
    const uint64_t row =
        CheckedMul(column.dimension, kLargestElement).value_or(UINT64_MAX);
    const uint64_t size =
        CheckedMul(row, std::max<uint64_t>(rows, 1)).value_or(UINT64_MAX);
    if (size > static_cast<uint64_t>(INT64_MAX)) {
      return Corrupt("column " + Quote(column.name) + " of " +
                     std::to_string(rows) + " rows of " +
                     std::to_string(column.dimension) + " is too large");
    }
  }
  return {};
}

void HeaderVisitor::FinishPieces() {
  std::vector<uint32_t> column_of(names_.size(), kWholeChunk);
  if (header_.columnar) {
    for (uint32_t i = 0; i < header_.columns.size(); ++i) {
      const auto found = name_ids_.find(header_.columns[i].name);
      if (found != name_ids_.end()) column_of[found->second] = i;
    }
  }
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const size_t end =
        i + 1 < chunks_.size() ? chunks_[i + 1].first_piece : raw_.size();
    const size_t first = chunks_[i].first_piece;
    const size_t kept = header_.pieces.size();
    for (size_t k = first; k < end; ++k) {
      RawPiece& raw = raw_[k];
      const bool whole = raw.piece.column == kWholeChunk;
      if (whole == header_.columnar) continue;
      const uint32_t column = whole ? 0 : column_of[raw.piece.column];
      if (column == kWholeChunk) continue;  // not in the schema
      raw.piece.column = column;
      if (raw.inherits) raw.piece.codec = header_.columns[column].codec;
      if (raw.piece.fault == CvcFault::kSound) {
        if (raw.piece.codec == CvcCodec::kUnknown) {
          raw.piece.fault = CvcFault::kUnknownCodec;
        } else if (raw.piece.codec == CvcCodec::kInt8) {
          if (!raw.has_min) raw.piece.fault = CvcFault::kNoMin;
          if (!raw.has_scale) raw.piece.fault = CvcFault::kNoScale;
        }
      }
      header_.pieces.push_back(raw.piece);
    }
    chunks_[i].first_piece = static_cast<uint32_t>(kept);
    std::sort(header_.pieces.begin() + static_cast<std::ptrdiff_t>(kept),
              header_.pieces.end(),
              [](const auto& a, const auto& b) { return a.column < b.column; });
  }
  header_.chunks = std::move(chunks_);
}

void HeaderVisitor::FinishSections() {
  if (labels_ > limits::kCvcLabels ||
      sections_.size() * header_.columns.size() > limits::kCvcSectionFiles) {
    warnings_.emplace_back("sections are not shown: there are too many");
    return;
  }
  for (auto& [key, section] : sections_) {
    // They are apart, so together no more than there are rows.
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
    bad_sections_ += before - section.ranges.size();
    if (!section.ranges.empty()) {
      header_.sections.push_back(std::move(section));
    }
  }
  if (bad_sections_ > 0) {
    warnings_.push_back(std::to_string(bad_sections_) +
                        " sections have no rows that there are");
  }
}

Result<CvcHeader> HeaderVisitor::Finish() {
  if (!is_object_) return Corrupt("the header is not a JSON object");
  if (limit_error_) return *std::move(limit_error_);
  const std::string format = top_.contains("format_type")
                                 ? Text(top_, "format_type").value_or("?")
                                 : "single";
  if (format != "single" && format != "columnar") {
    return Corrupt("format_type is neither single nor columnar");
  }
  header_.columnar = format == "columnar";
  const std::optional<uint64_t> rows = Count(top_, "num_vectors");
  if (!rows) return Corrupt("num_vectors is not a count");
  header_.num_vectors = *rows;
  if (!top_.contains("chunks") || !top_["chunks"].is_array()) {
    return Corrupt("chunks is not an array");
  }
  if (chunk_error_) return *std::move(chunk_error_);
  const auto flag = top_.find("mmap_optimized");
  const bool flagged = flag != top_.end() && *flag == true;
  if ((with_offset_ > 0 || flagged) && with_offset_ != chunks_.size()) {
    return Corrupt(std::to_string(with_offset_) + " of " +
                   std::to_string(chunks_.size()) +
                   " chunks have a file_offset");
  }
  header_.has_offsets = with_offset_ > 0;
  if (Status columns = FinishColumns(); !columns) {
    return std::move(columns).error();
  }
  if (Status summed = FinishRows(); !summed) return std::move(summed).error();
  FinishPieces();
  FinishSections();
  header_.warnings = std::move(warnings_);
  return std::move(header_);
}

}  // namespace

std::string_view CvcCodecName(CvcCodec codec) {
  constexpr std::string_view kNames[] = {"fp16", "int8", "none", "lossless",
                                         "unknown"};
  return kNames[static_cast<size_t>(codec)];
}

Result<CvcHeader> ParseCvcHeader(std::string_view text) {
  HeaderVisitor visitor;
  Result<size_t> length = WalkJson(text, JsonDialect::kPython, visitor);
  if (!length) return std::move(length).error();
  const size_t rest = text.find_first_not_of(" \t\r\n", *length);
  if (rest != std::string_view::npos) {
    return Error{Code::kCorrupt, "the header goes on after its JSON", rest};
  }
  return visitor.Finish();
}

}  // namespace ctxfs
