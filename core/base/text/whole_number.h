// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace ctxfs {

/// Parses all of `text` as a number in `base`; nullopt if it is not a number or
/// does not fit into a T.
template <typename T>
std::optional<T> WholeNumber(std::string_view text, int base = 10) {
  T number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace ctxfs
