// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs::mem8 {

/// Whether a member's bytes can be read (docs/formats/mem8.md, section 7).
enum class Mem8Extent : uint8_t { kSound, kOutOfRange, kInTable };

struct Mem8Member {
  std::string_view stored_path;  // in Mem8Members::table
  std::string path;              // to show; must still be made safe
  std::string status;  // what is wrong, if anything: "ok...", "skip: ..."
  uint32_t offset_field = 0;
  uint32_t size = 0;
  Mem8Extent extent = Mem8Extent::kSound;
  bool container = false;  // shown as a directory, for example a .mem8
};

/// The path table of an archive. Each member has its own status.
struct Mem8Members {
  Buffer table;
  std::vector<Mem8Member> members;
  uint64_t data_at = 0;  // end of the table
  uint64_t base = 0;     // 0 or data_at: base of the offsets
  uint32_t skipped = 0;  // members with status "skip"

  uint64_t OffsetOf(const Mem8Member& member) const {
    return base + member.offset_field;
  }
};

/// Reads the table of `count` members, which starts at byte 32, and the first
/// bytes of each member. Fails if the table does not fit or a read fails.
Result<Mem8Members> ReadMem8Members(const Source& file, uint16_t count,
                                    const Request& request);

}  // namespace ctxfs::mem8
