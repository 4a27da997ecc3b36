// SPDX-License-Identifier: Apache-2.0
#include "core/codec/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstdio>

namespace ctxfs {

uint32_t Crc32c(Bytes bytes, uint32_t before) {
  // ISA-L takes the length as an int, and a non-const pointer, from which it
  // only reads.
  constexpr size_t kPiece = size_t{1} << 30;
  uint32_t crc = ~before;
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(bytes.size(), kPiece));
    auto* data = const_cast<unsigned char*>(
        reinterpret_cast<const unsigned char*>(piece.data()));
    crc = crc32_iscsi(data, static_cast<int>(piece.size()), crc);
    bytes = bytes.subspan(piece.size());
  }
  return ~crc;
}

uint32_t Crc32(Bytes bytes, uint32_t before) {
  return crc32_gzip_refl(before,
                         reinterpret_cast<const unsigned char*>(bytes.data()),
                         bytes.size());
}

bool Checksum::Matches(Bytes bytes) const {
  Checksummer sum(kind);
  sum.Update(bytes);
  return sum.Matches(*this);
}

std::string Checksum::Text() const {
  if (kind == ChecksumKind::kNone) return {};
  char text[32];
  const char* name = kind == ChecksumKind::kCrc32c ? "crc32c" : "crc32";
  std::snprintf(text, sizeof(text), "%s:%08x", name, value);
  return text;
}

void Checksummer::Update(Bytes bytes) {
  if (kind_ == ChecksumKind::kCrc32c) crc_ = Crc32c(bytes, crc_);
  if (kind_ == ChecksumKind::kCrc32) crc_ = Crc32(bytes, crc_);
}

bool Checksummer::Matches(const Checksum& expected) const {
  return expected.kind == ChecksumKind::kNone || crc_ == expected.value;
}

}  // namespace ctxfs
