// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "core/base/json.h"

namespace ctxfs {

/// The whole number at `key` that is not negative; nullopt when there is none,
/// or `object` is no object.
inline std::optional<uint64_t> CountAt(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return std::nullopt;
  }
  return found->get<uint64_t>();
}

/// The shortest decimal that reads back as `value`, so that 0.1F is 0.1; null
/// for what JSON has no number for.
inline Json FloatJson(float value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  const char* end = std::to_chars(text, std::end(text), value).ptr;
  double shortest = 0;
  std::from_chars(text, end, shortest);
  return shortest;
}

/// `value` as text on one line; bytes that are not UTF-8 become U+FFFD.
inline std::string JsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ctxfs
