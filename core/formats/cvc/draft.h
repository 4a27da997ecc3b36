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

/// The header before its tables are cross-checked. JSON keys come in any order,
/// so chunks can precede the columns they name.
struct Draft {
  /// The column of a piece that is the whole chunk. A file that stores its
  /// chunks without columns has one column.
  static constexpr uint32_t kWholeChunk = UINT32_MAX;

  struct RawPiece {
    Piece piece;            // `column` is an index in `names`
    bool inherits = false;  // no codec of its own: uses the column's
    bool has_min = false;
    bool has_scale = false;
  };

  bool is_object = false;
  // The header's known keys. Its tables stay empty here: their elements are in
  // the members below.
  Json top = Json::object();
  Json columns;
  std::deque<Chunk> chunks;  // here `first_row` holds the number of rows
  std::deque<RawPiece> raw;
  std::vector<std::string> names;  // of columns in chunks
  uint64_t with_offset = 0;        // number of chunks with a file_offset
  // The sections by key and value, because different values can have the same
  // label.
  std::map<std::pair<std::string, std::string>, Section> sections;
  uint64_t labels = 0;
  uint64_t bad_sections = 0;
  std::optional<Error> chunk_error;
  std::optional<Error> limit_error;
};

/// Cross-checks the tables and builds the header. Fails with kCorrupt or
/// kLimit.
Result<Header> MakeTables(Draft draft, const Request& request);

/// Returns the codec called `name`, or kUnknown.
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
