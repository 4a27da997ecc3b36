// SPDX-License-Identifier: Apache-2.0
#include "core/compressed/gzip_header.h"

#include <algorithm>
#include <string>

#include "core/codec/checksum.h"

namespace ctxfs {
namespace {

constexpr unsigned kHasCrc = 2;
constexpr unsigned kHasExtra = 4;
constexpr unsigned kHasName = 8;
constexpr unsigned kHasComment = 16;
constexpr unsigned kUnknown = 0xE0;

Error Bad(std::string what, uint64_t at) {
  return {Code::kCorrupt, "gzip header: " + std::move(what), at};
}

}  // namespace

Result<size_t> GzipHeaderBytes(Bytes start, bool verify) {
  ByteReader in(start);
  const Bytes magic = in.Take(2);
  const unsigned method = in.U8();
  const unsigned flags = in.U8();
  in.Skip(6);  // time, level, system
  if (!in.ok()) return Bad("cut off", start.size());
  if (AsText(magic) != "\x1f\x8b") return Bad("no magic number", 0);
  if (method != 8) {
    return Bad("method " + std::to_string(method) + " is not deflate", 2);
  }
  if ((flags & kUnknown) != 0) return Bad("unknown flags", 3);
  if ((flags & kHasExtra) != 0) in.Skip(in.U16());
  for (const unsigned text : {kHasName, kHasComment}) {
    if ((flags & text) == 0 || !in.ok()) continue;
    const Bytes rest = start.subspan(static_cast<size_t>(in.offset()));
    const auto end = std::find(rest.begin(), rest.end(), std::byte{0});
    in.Skip(static_cast<uint64_t>(end - rest.begin()) + 1);
  }
  const auto before = in.ok() ? static_cast<size_t>(in.offset()) : size_t{0};
  const unsigned crc = (flags & kHasCrc) != 0 ? in.U16() : 0;
  if (!in.ok()) return Bad("cut off, or too long", start.size());
  if (verify && (flags & kHasCrc) != 0 &&
      (Crc32(start.first(before)) & 0xFFFFU) != crc) {
    return Bad("its CRC does not match", before);
  }
  return static_cast<size_t>(in.offset());
}

}  // namespace ctxfs
