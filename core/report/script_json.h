// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/json.h"

namespace ctxfs {

/// Returns `value` as JSON that no HTML parser takes for anything else, so that
/// it may stand in a script element: ASCII only, '<', '>' and '&' as \u003c and
/// the like. Bytes that are not UTF-8 become U+FFFD.
std::string ScriptJson(const Json& value);

/// Returns `text`, or its first `most` bytes without half of a character, and
/// an ellipsis.
std::string CutText(std::string_view text, size_t most);

/// Returns `value` with 6 significant digits; null for NaN and infinities.
Json Rounded(double value);

/// Returns `value`; null for NaN and infinities, which JSON does not have.
Json FiniteOrNull(double value);

}  // namespace ctxfs
