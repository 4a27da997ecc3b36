// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/text/whole_number.h"

namespace ctxfs {

constexpr size_t kUnicodeEscapeBytes = 6;

/// Returns the UTF-16 code unit of the escape \uXXXX at the start of `text`;
/// nullopt if there is no such escape.
inline std::optional<uint16_t> UnicodeEscape(std::string_view text) {
  if (text.size() < kUnicodeEscapeBytes || !text.starts_with("\\u")) {
    return std::nullopt;
  }
  return WholeNumber<uint16_t>(text.substr(2, kUnicodeEscapeBytes - 2), 16);
}

/// Whether a code unit is the first (high) or the second (low) of a pair of
/// surrogates.
constexpr bool IsHighSurrogate(uint32_t unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
constexpr bool IsLowSurrogate(uint32_t unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

}  // namespace ctxfs
