// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/json/json.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/io/source.h"

namespace ctxfs::mem8 {

constexpr uint64_t kVersionAt = 4;
constexpr uint64_t kBodyAt = 16;
constexpr uint16_t kVersion1 = 0x0001;  // how a real writer stores 1.0

/// Returns "1.0", for example.
std::string Mem8VersionText(uint16_t version);

/// Reads fields in a .mem8's byte order. Like ByteReader, fails permanently at
/// the first missing field.
class Mem8Reader {
 public:
  Mem8Reader(Bytes bytes, uint64_t offset, bool big_endian)
      : in_(bytes, offset), big_(big_endian) {}

  uint8_t U8() { return in_.U8(); }
  uint16_t U16() {
    const uint16_t value = in_.U16();
    return big_ ? __builtin_bswap16(value) : value;
  }
  uint32_t U32() {
    const uint32_t value = in_.U32();
    return big_ ? __builtin_bswap32(value) : value;
  }
  Bytes Take(uint64_t n) { return in_.Take(n); }
  bool ok() const { return in_.ok(); }
  uint64_t remaining() const { return in_.remaining(); }
  uint64_t offset() const { return in_.offset(); }

 private:
  ByteReader in_;
  bool big_;
};

/// The verdict of a file's CRC-32 (docs/formats/mem8.md, section 2).
enum class Mem8Crc : uint8_t { kOk, kOkOverDecompressed, kAbsent, kMismatch };

/// Returns "ok", "ok-over-decompressed", "absent" or "mismatch".
std::string_view Mem8CrcName(Mem8Crc crc);

/// The 16-byte header of a .mem8 (docs/formats/mem8.md, section 2).
struct Mem8Header {
  bool swapped_magic = false;  // "8MEM"
  bool big_endian = false;
  uint16_t version = 0;
  uint16_t flags = 0;
  uint32_t crc_stored = 0;
  uint32_t crc_found = 0;  // over bytes 12 to the end, as stored
  uint32_t index_offset = 0;
  Mem8Crc crc = Mem8Crc::kOk;

  static constexpr uint16_t kCompressed = 1;
  static constexpr uint16_t kEncrypted = 2;
  bool compressed() const { return (flags & kCompressed) != 0; }
  bool encrypted() const { return (flags & kEncrypted) != 0; }

  /// Returns the names of the known flags that are set.
  Json FlagNames() const;
};

/// The decompressed bytes of a .mem8; offsets are relative to their start. Only
/// the bytes of the header if the file is encrypted.
struct Mem8Image {
  Mem8Header header;
  Buffer bytes;
  std::vector<Warning> warnings;
};

/// Reads a whole .mem8, at most kMaxBytes stored and decompressed. A CRC
/// mismatch is only a warning. Fails with kNotContainer for another kind of
/// file; the error names the kind.
Result<Mem8Image> ReadMem8Image(const Source& source, const Request& request);

}  // namespace ctxfs::mem8
