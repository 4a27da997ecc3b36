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
  uint16_t method = 0;  // 0, 8 or 93
  uint16_t flags = 0x0800;
  uint32_t crc_error = 0;        // added to the checksum
  uint32_t size_error = 0;       // added to the decoded size
  std::string local_extra = {};  // of the local header alone
  std::string extra = {};        // of the directory alone
};

/// A ZIP archive, as zipfile writes one.
inline std::string BuildZip(const std::vector<ZipMember>& members,
                            const std::string& comment = {}) {
  std::string archive;
  std::string directory;
  for (const ZipMember& member : members) {
    std::string stored = member.content;
    if (member.method == 8) stored = RawDeflate(member.content);
    if (member.method == 93) stored = Zstd(member.content);
    const std::string sizes =
        Le(Crc32(AsBytes(member.content)) + member.crc_error, 4) +
        Le(stored.size(), 4) + Le(member.content.size() + member.size_error, 4);
    const std::string common = Le(20, 2) + Le(member.flags, 2) +
                               Le(member.method, 2) + Le(0, 4) + sizes +
                               Le(member.name.size(), 2);
    directory += Le(0x02014B50, 4) + Le(0x0314, 2) + common +
                 Le(member.extra.size(), 2) + Le(0, 2) + Le(0, 4) +
                 Le(0100644U << 16, 4) + Le(archive.size(), 4) + member.name +
                 member.extra;
    archive += Le(0x04034B50, 4) + common + Le(member.local_extra.size(), 2) +
               member.name + member.local_extra + stored;
  }
  const size_t offset = archive.size();
  archive += directory;
  return archive + Le(0x06054B50, 4) + Le(0, 4) + Le(members.size(), 2) +
         Le(members.size(), 2) + Le(directory.size(), 4) + Le(offset, 4) +
         Le(comment.size(), 2) + comment;
}

}  // namespace ctxfs
