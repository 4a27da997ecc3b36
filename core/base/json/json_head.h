// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace ctxfs {

/// The members at the start of a JSON value, whose text may be cut off: by path
/// ("shards/0/format" is "shards//format", because items of arrays have no
/// name), the first string there, or an empty string for any other value. Empty
/// if `text` does not start with an object. For probes, which see only a head.
std::map<std::string, std::string> JsonHead(std::string_view text);

}  // namespace ctxfs
