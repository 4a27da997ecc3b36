// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// Objects keep their keys sorted: equal values give equal text, and a hostile
/// object of a million keys costs what a map costs.
using Json = nlohmann::json;

struct ParsedJson {
  Json value;
  size_t length;  // bytes up to the end of the value
};

/// Parses the one JSON value that `text` starts with and ignores what follows
/// it. Fails with kCorrupt (offset: byte within `text`) or kLimit (more than
/// limits::kJsonBytes, nested deeper than limits::kJsonDepth).
Result<ParsedJson> ParseJson(std::string_view text);

/// `value` as indented text ending in a newline; bytes that are not UTF-8
/// become U+FFFD.
std::string FormatJson(const Json& value);

}  // namespace ctxfs
