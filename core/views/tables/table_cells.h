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

/// Appends a cell as a CSV field: as above, but text has quotes only if it
/// needs them, NaN and infinities are NaN, inf and -inf, null is an empty field
/// and empty text is "".
void AppendCsvCell(const Cells& cells, uint64_t row, std::string& text);

/// Appends a field of CSV, in quotes where it needs them (RFC 4180).
void AppendCsvField(std::string_view field, std::string& text);

/// Returns the text of a line that is a JSON string; nullopt for null.
std::optional<std::string> TextOf(const std::string& line);

}  // namespace ctxfs
