// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace ctxfs {

/// Returns /proc/THREAD/status of a thread of any process; empty if there is
/// none or it cannot be read. A confined thread cannot read it.
std::string ThreadStatus(uint64_t thread);

/// The number after `key`, such as "\nTgid:\t", in a ThreadStatus.
template <typename Number>
std::optional<Number> NumberAfter(std::string_view status, std::string_view key,
                                  int base) {
  const size_t at = status.find(key);
  if (at == status.npos) return std::nullopt;
  Number value = 0;
  const auto [end, error] =
      std::from_chars(status.data() + at + key.size(),
                      status.data() + status.size(), value, base);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace ctxfs
