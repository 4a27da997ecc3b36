// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/views/tables/table_reader.h"

namespace ctxfs {

/// Appends a cell as JSON: floats as the shortest text that parses to the same
/// value, NaN and infinities as null, a uuid as 8-4-4-4-12, bytes as base64,
/// several values as an array.
void AppendJsonCell(const Cells& cells, uint64_t row, std::string& text);

/// Appends a cell as a CSV field. The differences from AppendJsonCell: text is
/// quoted only if necessary, NaN and infinities are NaN, inf and -inf, null is
/// an empty field, and empty text is "".
void AppendCsvCell(const Cells& cells, uint64_t row, std::string& text);

/// Appends a CSV field, quoted if necessary (RFC 4180).
void AppendCsvField(std::string_view field, std::string& text);

/// Returns the text of a line that is a JSON string; nullopt for any other
/// line, such as null.
std::optional<std::string> TextOf(const std::string& line);

}  // namespace ctxfs
