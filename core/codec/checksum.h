// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/base/bytes.h"

namespace ctxfs {

/// Continues a CRC-32C (Castagnoli) `before` over `bytes`.
uint32_t Crc32c(Bytes bytes, uint32_t before = 0);

/// Continues a CRC-32 (IEEE, as in zlib and gzip) `before` over `bytes`.
uint32_t Crc32(Bytes bytes, uint32_t before = 0);

enum class ChecksumKind : uint8_t { kNone, kCrc32c, kCrc32 };

/// The expected checksum of an entry's bytes.
struct Checksum {
  ChecksumKind kind = ChecksumKind::kNone;
  uint32_t value = 0;

  explicit operator bool() const { return kind != ChecksumKind::kNone; }
  bool Matches(Bytes bytes) const;
  /// "crc32c:9a71bb4c", "crc32:cbf43926"; empty for none.
  std::string Text() const;
};

/// Computes a checksum incrementally.
class Checksummer {
 public:
  explicit Checksummer(ChecksumKind kind) : kind_(kind) {}
  void Update(Bytes bytes);
  bool Matches(const Checksum& expected) const;

 private:
  ChecksumKind kind_;
  uint32_t crc_ = 0;
};

}  // namespace ctxfs
