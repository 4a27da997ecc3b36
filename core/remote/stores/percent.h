// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs::remote {

/// Whether `c` is an ASCII letter or digit.
bool IsAlphanumeric(char c);

/// `text` with %XX for every byte but letters, digits, "-._~" and those of
/// `plain`.
std::string Encoded(std::string_view text, std::string_view plain);

/// `text` with the byte for each %XX.
std::string Decoded(std::string_view text);

}  // namespace ctxfs::remote
