// SPDX-License-Identifier: Apache-2.0
//
// Parses the JSON header of a vector collection (docs/formats/cvc.md, section
// 2) directly into tables, because it may have a million chunks. Keys come in
// any order.
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "core/base/json/json.h"
#include "core/formats/cvc/draft.h"
#include "core/formats/cvc/limits.h"

namespace ctxfs::cvc {
namespace {

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

/// Returns the number at `key`, rounded once from double; may be infinite.
std::optional<float> Float(const Json& object, const char* key) {
  static_assert(std::numeric_limits<float>::is_iec559);
  const Json* number = MemberAt(object, key);
  if (number == nullptr || !number->is_number()) return std::nullopt;
  return static_cast<float>(number->get<double>());
}

Error TooMany(const std::string& what, uint64_t limit) {
  return {Code::kLimit,
          fmt::format("more {} than the limit of {}", what, limit), 0};
}

class HeaderVisitor final : public JsonVisitor {
 public:
  bool Enter(const Path& path, bool is_array) override;
  void Leave(const Path& path) override;
  void Scalar(const Path& path, Json value) override;
  Draft Take() { return std::move(draft_); }

 private:
  /// Stores the value at `path`. An object or array is empty here; its members
  /// follow in later calls.
  void Put(const Path& path, Json value);
  void Reset(const std::string& table);
  void FinishElement(const std::string& table);
  void FinishChunk();
  void FinishSection();
  void AddPiece(uint32_t column, const Json& object);
  uint32_t NameId(const std::string& name);

  Draft draft_;
  Json element_;              // known keys of the current table element
  Json piece_;                // known keys of a column in the current chunk
  size_t pieces_before_ = 0;  // pieces of all earlier chunks
  std::unordered_map<std::string, uint32_t> name_ids_;
};

bool HeaderVisitor::Enter(const Path& path, bool is_array) {
  Put(path, is_array ? Json::array() : Json::object());
  switch (path.size()) {
    case 0:
      draft_.is_object = !is_array;
      return draft_.is_object;
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
      draft_.top[path[0]] = std::move(value);
      return;
    case 2:
      element_ = std::move(value);
      pieces_before_ = draft_.raw.size();
      if (!element_.is_object()) FinishElement(path[0]);
      return;
    case 3:
      if (path[0] == "chunks" && path[2] == "columns") {
        draft_.raw.resize(pieces_before_);
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
        // An object or array is not a label, but it still replaces an earlier
        // value of the key.
        element_["metadata"].erase(path[3]);
      } else if (element_["metadata"].size() < kMaxLabels) {
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
    draft_.chunks.clear();
    draft_.raw.clear();
    draft_.with_offset = 0;
    draft_.chunk_error.reset();
  } else if (table == "columns") {
    draft_.columns = Json::array();
  } else if (table == "sections") {
    draft_.sections.clear();
    draft_.labels = 0;
    draft_.bad_sections = 0;
  }
}

void HeaderVisitor::FinishElement(const std::string& table) {
  if (table == "chunks") {
    FinishChunk();
  } else if (table == "columns") {
    draft_.columns.push_back(std::move(element_));
    if (draft_.columns.size() > kMaxColumns) {
      draft_.limit_error = TooMany("columns", kMaxColumns);
      draft_.columns.clear();
    }
  } else {
    FinishSection();
  }
}

uint32_t HeaderVisitor::NameId(const std::string& name) {
  const auto next = static_cast<uint32_t>(draft_.names.size());
  const auto [found, added] = name_ids_.try_emplace(name, next);
  if (!added) return found->second;
  if (draft_.names.size() >= kMaxColumns) {
    name_ids_.erase(found);
    draft_.limit_error = TooMany("columns", kMaxColumns);
    return 0;
  }
  draft_.names.push_back(name);
  return next;
}

void HeaderVisitor::AddPiece(uint32_t column, const Json& object) {
  if (draft_.raw.size() >= kMaxPieces) {
    draft_.limit_error = TooMany("parts of columns", kMaxPieces);
    return;
  }
  Draft::RawPiece raw;
  raw.piece.column = column;
  const std::optional<float> min = Float(object, "min");
  const std::optional<float> scale = Float(object, "scale");
  raw.has_min = min.has_value();
  raw.has_scale = scale.has_value();
  raw.piece.min = min.value_or(0);
  raw.piece.scale = scale.value_or(0);
  raw.inherits = !object.contains("compression");
  raw.piece.codec = CodecOf(JsonText(object, "compression").value_or(""));
  if (column != Draft::kWholeChunk) {
    const uint64_t offset = CountAt(object, "offset").value_or(UINT64_MAX);
    const uint64_t size = CountAt(object, "size").value_or(UINT64_MAX);
    // A payload is shorter than 4 GiB.
    if (offset > UINT32_MAX || size > UINT32_MAX) {
      raw.piece.fault = Fault::kOutsideChunk;
    } else {
      raw.piece.offset = static_cast<uint32_t>(offset);
      raw.piece.size = static_cast<uint32_t>(size);
    }
  }
  draft_.raw.push_back(raw);
}

void HeaderVisitor::FinishChunk() {
  const std::optional<uint64_t> rows = CountAt(element_, "rows");
  if (!rows) {
    draft_.chunk_error = Corrupt(
        fmt::format("chunk {}: rows is not a count", draft_.chunks.size()));
    return;
  }
  if (draft_.chunks.size() >= kMaxChunks) {
    draft_.limit_error = TooMany("chunks", kMaxChunks);
    return;
  }
  // Of several pieces of one column in a chunk, the last one counts.
  const auto begin =
      draft_.raw.begin() + static_cast<std::ptrdiff_t>(pieces_before_);
  if (draft_.raw.end() - begin > 1) {
    const auto column = [](const Draft::RawPiece& raw) {
      return raw.piece.column;
    };
    std::ranges::stable_sort(begin, draft_.raw.end(), {}, column);
    auto kept = begin;
    for (auto next = begin; next != draft_.raw.end(); ++next) {
      if (next != begin && column(*next) != column(*kept)) ++kept;
      *kept = *next;
    }
    draft_.raw.erase(kept + 1, draft_.raw.end());
  }
  Chunk chunk;
  chunk.first_row = *rows;
  chunk.first_piece = static_cast<uint32_t>(pieces_before_);
  if (element_.contains("file_offset")) {
    ++draft_.with_offset;
    chunk.payload = CountAt(element_, "file_offset").value_or(UINT64_MAX);
  }
  draft_.chunks.push_back(chunk);
  AddPiece(Draft::kWholeChunk, element_);
}

void HeaderVisitor::FinishSection() {
  const std::optional<uint64_t> start = CountAt(element_, "start_index");
  const std::optional<uint64_t> end = CountAt(element_, "end_index");
  if (!start || !end || *start > *end) {
    ++draft_.bad_sections;
    return;
  }
  const auto metadata = element_.find("metadata");
  if (metadata == element_.end() || !metadata->is_object()) return;
  for (const auto& [key, value] : metadata->items()) {
    if (++draft_.labels > kMaxLabels) return;
    // The text "1" and the number 1 have the same label but are different
    // sections; in the key, a string starts with a quote.
    const std::string dump =
        value.is_string() ? "\"" + value.get<std::string>() : JsonLine(value);
    Section& section = draft_.sections[{key, dump}];
    section.label = key + "=" + (value.is_string() ? dump.substr(1) : dump);
    section.ranges.emplace_back(*start, *end);
  }
}

}  // namespace

Result<Header> ParseHeader(std::string_view text, const Request& request) {
  HeaderVisitor visitor;
  const size_t length =
      CTXFS_TRY(WalkJson(text, JsonDialect::kPython, visitor, request));
  const size_t rest = text.find_first_not_of(" \t\r\n", length);
  if (rest != std::string_view::npos) {
    return Error{Code::kCorrupt, "the header continues after its JSON", rest};
  }
  return MakeTables(visitor.Take(), request);
}

}  // namespace ctxfs::cvc
