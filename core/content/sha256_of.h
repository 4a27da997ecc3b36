// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs {

/// SHA-256 of all of `content` as lower-case hex digits. Fails if a checksum
/// of the content does not match.
Result<std::string> Sha256Of(const Content& content,
                             const ReadContext& context);
/// SHA-256 of all of `source`, as lower-case hex digits.
Result<std::string> Sha256Of(std::shared_ptr<const Source> source,
                             const ReadContext& context);

/// Converts hex digits to lower case, as Sha256Of returns them.
std::string LowerHex(std::string digits);

}  // namespace ctxfs
