// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/result.h"
#include "core/content/content.h"

namespace ctxfs {

/// SHA-256 of all of `content`, verified, as lower-case hex digits.
Result<std::string> Sha256Of(const Content& content,
                             const ReadContext& context);

}  // namespace ctxfs
