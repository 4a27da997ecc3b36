// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/text/human_size.h"

namespace ctxfs {

/// Like HumanSize, but without the space and with only the first letter of the
/// unit, none for bytes, like ls -h: "1.5G", "17".
std::string ShortSize(uint64_t bytes);

/// Escapes each backslash in `text` as "\\", and each newline, carriage return
/// or tab that is in `controls` as "\n", "\r" or "\t".
std::string Escaped(std::string_view text, std::string_view controls);

}  // namespace ctxfs
