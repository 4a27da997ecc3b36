// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/views/tables/table_reader.h"

namespace ctxfs {

/// Appends a cell as JSON: numbers with all their digits, floats as the
/// shortest text that gives them back, NaN and infinities as null; a uuid
/// 8-4-4-4-12; bytes as base64; several values as an array.
void AppendJsonCell(const Cells& cells, uint64_t row, std::string& text);

/// Appends a cell as a CSV field: as above, but text is bare, NaN and
/// infinities are NaN, inf and -inf, null is nothing and an empty text "".
void AppendCsvCell(const Cells& cells, uint64_t row, std::string& text);

/// Appends a field of CSV, in quotes where it needs them (RFC 4180).
void AppendCsvField(std::string_view field, std::string& text);

/// The text that a line of JSON holds; nothing for null.
std::optional<std::string> TextOf(const std::string& line);

}  // namespace ctxfs
