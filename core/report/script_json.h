// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json/json.h"

namespace ctxfs {

// Longer names are cut.
constexpr size_t kEntryNameBytes = 1000;
constexpr size_t kArrayNameBytes = 200;  // of columns, too

/// Returns `value` as JSON that is safe inside a script element: ASCII only,
/// with '<', '>' and '&' as \u003c and the like, so that it cannot end the
/// element. Bytes that are not UTF-8 become U+FFFD.
std::string ScriptJson(const Json& value);

/// Returns `text` as one line for an HTML page: markup, and what cannot be seen
/// or changes the order of letters, is escaped. ASCII only.
std::string HtmlText(std::string_view text);

/// Returns `text` if it has at most `most` bytes; otherwise the whole UTF-8
/// characters in its first `most` bytes, and an ellipsis.
std::string CutText(std::string_view text, size_t most);

/// Returns `value` with so many significant digits; null for NaN and
/// infinities.
Json Rounded(double value, int digits = 6);

}  // namespace ctxfs
