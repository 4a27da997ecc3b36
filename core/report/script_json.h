// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json/json.h"

namespace ctxfs {

// Maximum bytes of names. Longer names are cut.
constexpr size_t kEntryNameBytes = 1000;
constexpr size_t kArrayNameBytes = 200;  // also of columns

/// Returns `value` as JSON that cannot end a script element: ASCII only, with
/// '<', '>' and '&' escaped as \u003c etc. Bytes that are not UTF-8 become
/// U+FFFD.
std::string ScriptJson(const Json& value);

/// Returns `text` as one line of ASCII HTML; escapes markup, invisible
/// characters and those that change the direction of text.
std::string HtmlText(std::string_view text);

/// Cuts `text` to at most `most` bytes of whole UTF-8 characters, and appends
/// an ellipsis if it was cut.
std::string CutText(std::string_view text, size_t most);

/// Returns `value` with `digits` significant digits; null for NaN and
/// infinities.
Json Rounded(double value, int digits = 6);

}  // namespace ctxfs
