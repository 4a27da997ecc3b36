// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/checksum.h"

namespace ctxfs {

/// Little-endian numbers one after the other.
class LeBytes {
 public:
  LeBytes& U8(uint64_t value) { return Put(value, 1); }
  LeBytes& U16(uint64_t value) { return Put(value, 2); }
  LeBytes& U32(uint64_t value) { return Put(value, 4); }
  LeBytes& U64(uint64_t value) { return Put(value, 8); }
  LeBytes& Raw(std::string_view bytes) {
    bytes_ += bytes;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  LeBytes& Put(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) {
      bytes_ += static_cast<char>(value >> (8 * i) & 0xFF);
    }
    return *this;
  }
  std::string bytes_;
};

/// A .mem8 as a test wants it; the CRC is right unless `crc` says otherwise.
struct Mem8File {
  std::string magic = "MEM8";
  uint16_t version = 0x0100;
  uint16_t flags = 0;
  uint32_t index_offset = 0;
  std::vector<std::string> strings;
  std::string sections;  // as they are stored
  int64_t crc = -1;      // what to put there instead

  /// The string table and the sections.
  std::string Body() const {
    LeBytes body;
    size_t total = 0;
    for (const std::string& text : strings) total += text.size() + 2;
    body.U16(strings.size()).U16(total);
    for (const std::string& text : strings) body.U16(text.size()).Raw(text);
    return body.bytes() + sections;
  }

  std::string Build() const { return BuildWith(Body()); }

  /// With `body` as what is stored after the header.
  std::string BuildWith(std::string_view body) const {
    const std::string checked = LeBytes().U32(index_offset).Raw(body).bytes();
    const uint64_t sum =
        crc >= 0 ? static_cast<uint64_t>(crc) : Crc32(AsBytes(checked));
    return LeBytes()
        .Raw(magic)
        .U16(version)
        .U16(flags)
        .U32(sum)
        .Raw(checked)
        .bytes();
  }
};

/// A section whose length counts the payload and `also` more bytes.
inline std::string Mem8SectionBytes(uint8_t type, std::string_view payload,
                                    size_t also = 0) {
  return LeBytes().U8(type).U16(payload.size() + also).Raw(payload).bytes();
}

/// The payload of an identity section with these string numbers.
inline std::string Mem8Identity(uint16_t path, uint16_t purpose) {
  return LeBytes().U16(path).U8(1).U16(purpose).U32(7).U32(8).U32(9).bytes();
}

}  // namespace ctxfs
