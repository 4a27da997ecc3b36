// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ctxfs {

/// The bytes that pairs of hex digits stand for.
inline std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace ctxfs
