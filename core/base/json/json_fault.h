// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/base/json/json_events.h"
#include "core/base/request.h"
#include "core/base/result.h"

namespace ctxfs {

/// Returns a kCorrupt error (offset: byte within `text`) that says why ReadJson
/// cannot read `text`, in the words of the JSON library, which reads `text`
/// again. If `request.CheckMemory` fails meanwhile, returns its error instead.
Error FindJsonFault(std::string_view text, JsonDialect dialect,
                    JsonExtent extent, const Request& request);

/// Shortens a parse error of the JSON library: removes the library's prefixes,
/// and truncates the rest to 150 characters. Example: "not JSON: invalid
/// literal; last read: 'nul'; expected a value".
std::string JsonFault(std::string_view library_message);

}  // namespace ctxfs
