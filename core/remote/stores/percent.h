// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ctxfs::remote {

bool IsAlphanumeric(char c);

/// Percent-encodes every byte of `text` except letters, digits, "-._~" and the
/// bytes of `plain`.
std::string Encoded(std::string_view text, std::string_view plain);

std::string Decoded(std::string_view text);

}  // namespace ctxfs::remote
