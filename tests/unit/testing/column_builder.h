// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace ctxfs::column_shard {

/// A payload: declared coding, rows, then `rest`.
inline std::string Payload(uint8_t coding, uint32_t rows,
                           const std::string& rest) {
  std::string payload(1, static_cast<char>(coding));
  for (int i = 0; i < 4; ++i) payload += static_cast<char>(rows >> (8 * i));
  return payload + rest;
}

}  // namespace ctxfs::column_shard
