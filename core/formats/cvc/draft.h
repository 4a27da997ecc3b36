// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/formats/cvc/cvc.h"

namespace ctxfs::cvc {

/// The header as its JSON has it, before one table is held against another:
/// keys come in any order, chunks before the columns they speak of.
struct Draft {
  /// A piece's column that is the chunk itself: all there is to a chunk of a
  /// single-column file.
  static constexpr uint32_t kWholeChunk = UINT32_MAX;

  struct RawPiece {
    Piece piece;            // its column is a place in `names`
    bool inherits = false;  // has no codec of its own
    bool has_min = false;
    bool has_scale = false;
  };

  bool is_object = false;
  Json top = Json::object();  // what is known; tables as empty ones
  Json columns;
  std::deque<Chunk> chunks;  // first_row is the number of rows for now
  std::deque<RawPiece> raw;
  std::vector<std::string> names;  // of columns in chunks
  uint64_t with_offset = 0;        // chunks
  // By key and value; values that differ may read alike.
  std::map<std::pair<std::string, std::string>, Section> sections;
  uint64_t labels = 0;
  uint64_t bad_sections = 0;
  std::optional<Error> chunk_error;
  std::optional<Error> limit_error;
};

/// Holds the tables against each other and makes the header of them.
Result<Header> MakeTables(Draft draft);

/// The codec of that name.
Codec CodecOf(std::string_view name);

/// The whole number at `key` that is not negative.
inline std::optional<uint64_t> JsonCount(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

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
