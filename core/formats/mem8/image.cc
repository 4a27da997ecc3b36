// SPDX-License-Identifier: Apache-2.0
//
// Decodes a file to its image (docs/formats/mem8.md, section 2).
//
//   0    "MEM8", or "8MEM" if the writer stored the magic as a number
//   4    u16 version, u16 flags
//   8    u32 CRC-32 of bytes 12 to the end
//   12   u32 offset of the jump table, 0 for none
//   16   the body; if flag 1 is set, compressed as one zstd frame
#include "core/formats/mem8/image.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "core/base/heap/heap_allowance.h"
#include "core/base/limits.h"
#include "core/codec/checksum.h"
#include "core/codec/codec.h"
#include "core/formats/mem8/kind.h"
#include "core/formats/mem8/limits.h"

namespace ctxfs::mem8 {
namespace {

constexpr uint64_t kCheckedAt = 12;  // start of the bytes covered by the CRC
constexpr uint16_t kFirstReservedFlag = 5;

constexpr std::array<const char*, kFirstReservedFlag> kFlags = {
    "compressed", "encrypted", "has parent", "has snapshots", "has metrics"};

Mem8Header ParseHeader(Bytes file, bool big_endian) {
  Mem8Reader in(file.subspan(kVersionAt), kVersionAt, big_endian);
  Mem8Header header;
  header.swapped_magic = AsText(file).starts_with("8MEM");
  header.big_endian = big_endian;
  header.version = in.U16();
  header.flags = in.U16();
  header.crc_stored = in.U32();
  header.index_offset = in.U32();
  return header;
}

/// Decompresses a file whose body is a zstd frame.
Result<Buffer> Unpack(Bytes file, std::vector<Warning>& warnings) {
  const Bytes body = file.subspan(kBodyAt);
  if (!LooksLikeZstd(body)) {
    return Error{Code::kCorrupt,
                 "the flags say compressed, but no zstd frame follows",
                 kBodyAt};
  }
  Result<ZstdFrame> frame = DecodeZstdFrame(body, kMaxBytes - kBodyAt);
  if (!frame) {
    Error error = std::move(frame).error();
    error.offset = kBodyAt;
    return error;
  }
  if (frame->stored_size < body.size()) {
    warnings.push_back({fmt::format("{} bytes after the zstd frame",
                                    body.size() - frame->stored_size),
                        kBodyAt + frame->stored_size});
  }
  CTXFS_TRY(HeapAllowance::Admit(kBodyAt + frame->bytes.size()));
  Buffer image(kBodyAt + frame->bytes.size());
  std::memcpy(image.data(), file.data(), kBodyAt);
  if (frame->bytes.size() > 0) {
    std::memcpy(image.data() + kBodyAt, frame->bytes.data(),
                frame->bytes.size());
  }
  return image;
}

void WarnOfHeader(Mem8Image& image) {
  const Mem8Header& header = image.header;
  const auto warn = [&image](std::string text, uint64_t at) {
    image.warnings.push_back({std::move(text), at});
  };
  if (header.swapped_magic) warn("byte-swapped magic", 0);
  if (header.big_endian) warn("every number is big-endian", kVersionAt);
  if (header.version == kVersion1) {
    warn("version 0x0001 read as 1.0", kVersionAt);
  }
  if (header.flags >> kFirstReservedFlag != 0) {
    warn("reserved flag bits set", kVersionAt + 2);
  }
  if (header.crc == Mem8Crc::kAbsent) warn("crc not computed", 8);
  if (header.crc == Mem8Crc::kMismatch) warn("crc mismatch", 8);
  if (header.crc == Mem8Crc::kOkOverDecompressed) {
    warn("crc over decompressed body", 8);
  }
  if (header.encrypted()) {
    warn(
        "encrypted, with an algorithm that is not documented: only the header "
        "is shown",
        kVersionAt + 2);
  }
}

}  // namespace

std::string_view Mem8CrcName(Mem8Crc crc) {
  constexpr std::string_view kNames[] = {"ok", "ok-over-decompressed", "absent",
                                         "mismatch"};
  return kNames[static_cast<size_t>(crc)];
}

std::string Mem8VersionText(uint16_t version) {
  if (version == kVersion1) return "1.0";
  return fmt::format("{}.{}", version >> 8, version & 0xFF);
}

Json Mem8Header::FlagNames() const {
  Json names = Json::array();
  for (size_t bit = 0; bit < kFlags.size(); ++bit) {
    if ((flags >> bit & 1) != 0) names.push_back(kFlags[bit]);
  }
  return names;
}

Result<Mem8Image> ReadMem8Image(const Source& source, const Request& request) {
  const uint64_t size = source.size();
  const Buffer head = CTXFS_TRY(
      ReadBuffer(source, 0, std::min<uint64_t>(size, limits::kProbeBytes),
                 "header", request));
  if (size > kMaxBytes) {
    const Mem8Kind kind = Mem8KindOf(head.span(), size, std::nullopt);
    if (kind != Mem8Kind::kMem8) return NotMem8(kind);
    return Error{
        Code::kLimit,
        fmt::format("{} bytes are over the limit of {}", size, kMaxBytes), 0};
  }
  Buffer file = CTXFS_TRY(ReadBuffer(source, 0, size, "file", request));
  std::optional<uint32_t> crc;
  if (size >= kBodyAt) crc = Crc32(file.span().subspan(kCheckedAt));
  const Mem8Kind kind = Mem8KindOf(head.span(), size, crc);
  if (kind != Mem8Kind::kMem8 && kind != Mem8Kind::kMem8BigEndian) {
    return NotMem8(kind);
  }
  if (size < kBodyAt) {
    return Error{Code::kCorrupt, "shorter than the 16-byte header", size};
  }
  Mem8Image image;
  image.header = ParseHeader(file.span(), kind == Mem8Kind::kMem8BigEndian);
  Mem8Header& header = image.header;
  header.crc_found = *crc;
  // Version 1 is accepted, because Mem8KindOf has excluded the other formats
  // that use it.
  if (header.version >> 8 != 1 && header.version != kVersion1) {
    return Error{Code::kVersion,
                 "unsupported version " + Mem8VersionText(header.version),
                 kVersionAt};
  }
  header.crc = header.crc_stored == 0      ? Mem8Crc::kAbsent
               : header.crc_stored == *crc ? Mem8Crc::kOk
                                           : Mem8Crc::kMismatch;
  if (header.encrypted()) {
    image.bytes = Buffer(kBodyAt);
    std::memcpy(image.bytes.data(), file.data(), kBodyAt);
  } else if (header.compressed()) {
    image.bytes = CTXFS_TRY(Unpack(file.span(), image.warnings));
    if (header.crc == Mem8Crc::kMismatch &&
        Crc32(image.bytes.span().subspan(kCheckedAt)) == header.crc_stored) {
      header.crc = Mem8Crc::kOkOverDecompressed;
    }
  } else {
    image.bytes = std::move(file);
  }
  WarnOfHeader(image);
  return image;
}

}  // namespace ctxfs::mem8
