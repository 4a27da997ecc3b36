// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/codec/checksum.h"
#include "tests/unit/testing/compress.h"

namespace ctxfs {

/// A number of `size` bytes, little-endian.
inline std::string Le(uint64_t value, size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return bytes;
}

struct ZipMember {
  std::string name;
  std::string content;
  uint16_t method = 0;  // 0, 8, 9, 12, 14, 93 or 95
  uint16_t flags = 0x0800;
  uint32_t crc_error = 0;        // added to the checksum
  uint32_t size_error = 0;       // added to the decoded size
  std::string local_extra = {};  // of the local header alone
  std::string extra = {};        // of the directory alone
  std::string after = {};        // behind the data
  size_t descriptor = 0;         // bytes of a size behind the data: 4 or 8
};

/// The data of a member; its content if the method is another one.
inline std::string ZipData(const ZipMember& member) {
  switch (member.method) {
    case 8:
    case 9:  // the same, but for matches of 258 bytes
      return RawDeflate(member.content);
    case 12:
      return Bzip2(member.content);
    case 14:
      return ZipLzma(member.content);
    case 93:
      return Zstd(member.content);
    case 95:
      return Xz(member.content);
    default:
      return member.content;
  }
}

/// A ZIP archive, as zipfile writes one.
inline std::string BuildZip(const std::vector<ZipMember>& members,
                            const std::string& comment = {}) {
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    const std::string stored = ZipData(member);
    const std::string sizes =
        Le(Crc32(AsBytes(member.content)) + member.crc_error, 4) +
        Le(stored.size(), 4) + Le(member.content.size() + member.size_error, 4);
    const bool piped = member.descriptor > 0;
    const std::string start = Le(20, 2) +
                              Le(member.flags | (piped ? 8U : 0U), 2) +
                              Le(member.method, 2) + Le(0, 4);
    const std::string common = sizes + Le(member.name.size(), 2);
    directory += Le(0x02014B50, 4) + Le(0x0314, 2) + start + common +
                 Le(member.extra.size(), 2) + Le(0, 2) + Le(0, 4) +
                 Le(0100644U << 16, 4) + Le(archive.size(), 4) + member.name +
                 member.extra;
    archive += Le(0x04034B50, 4) + start +
               (piped ? std::string(12, '\0') + common.substr(12) : common) +
               Le(member.local_extra.size(), 2) + member.name +
               member.local_extra + stored + member.after;
    if (!piped) continue;
    archive += Le(0x08074B50, 4) + sizes.substr(0, 4) +
               Le(stored.size(), member.descriptor) +
               Le(member.content.size(), member.descriptor);
  }
  const size_t offset = archive.size();
  archive += directory;
  return archive + Le(0x06054B50, 4) + Le(0, 4) + Le(members.size(), 2) +
         Le(members.size(), 2) + Le(directory.size(), 4) + Le(offset, 4) +
         Le(comment.size(), 2) + comment;
}

}  // namespace ctxfs
