// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ctxfs {

/// Returns the values in the JSON object at the start of `text`, by path. The
/// text may be truncated, because probes receive only the first bytes of a
/// file. In a path, items of arrays have an empty name: "shards//format" is the
/// format of a shard. If several values have the same path, the first counts. A
/// value that is not a string is returned as an empty string. Returns nothing
/// if `text` does not start with an object.
std::map<std::string, std::string> JsonHead(std::string_view text);

}  // namespace ctxfs
