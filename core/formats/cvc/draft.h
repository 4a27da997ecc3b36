// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {

/// The header as it is in the JSON, before its tables are compared: keys come
/// in any order, so chunks may come before the columns that they name.
struct Draft {
  /// The column of a piece that is the whole chunk, in files with one column.
  static constexpr uint32_t kWholeChunk = UINT32_MAX;

  struct RawPiece {
    Piece piece;            // its column is an index of `names`
    bool inherits = false;  // has no codec of its own, but the column's
    bool has_min = false;
    bool has_scale = false;
  };

  bool is_object = false;
  Json top = Json::object();  // the known keys, with empty tables
  Json columns;
  std::deque<Chunk> chunks;  // here first_row is the number of rows
  std::deque<RawPiece> raw;
  std::vector<std::string> names;  // of columns in chunks
  uint64_t with_offset = 0;        // chunks
  // By key and value: different values may have the same label.
  std::map<std::pair<std::string, std::string>, Section> sections;
  uint64_t labels = 0;
  uint64_t bad_sections = 0;
  std::optional<Error> chunk_error;
  std::optional<Error> limit_error;
};

/// Compares the tables with each other and makes the header. Fails with
/// kCorrupt or kLimit.
Result<Header> MakeTables(Draft draft, const Request& request);

/// The codec called `name`; kUnknown for any other name.
Codec CodecOf(std::string_view name);

inline std::optional<std::string> JsonText(const Json& object,
                                           const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

inline Error Corrupt(std::string what) {
  return {Code::kCorrupt, std::move(what), 0};
}

}  // namespace ctxfs::cvc
