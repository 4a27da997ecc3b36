// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/json/json_events.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace ctxfs {

/// Explains why ReadJson cannot read `text`, in the words of the JSON library,
/// which reads it again: kCorrupt (offset: byte within `text`). Returns the
/// error of Request::CheckMemory for `request` if that fails.
Error FindJsonFault(std::string_view text, JsonDialect dialect,
                    JsonExtent extent, const Request& request);

/// Shortens a parse error of the JSON library: removes the library's prefixes,
/// and truncates the rest to 150 characters. Example: "not JSON: invalid
/// literal; last read: 'nul'; expected a value".
std::string JsonFault(std::string_view library_message);

}  // namespace ctxfs
