// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/io/source.h"

namespace ctxfs {

/// Whether a member can be had (docs/mem8.md, section 7).
enum class Mem8Extent : uint8_t { kSound, kOutOfRange, kInTable };

struct Mem8Member {
  std::string_view stored_path;  // in Mem8Members::table
  std::string path;    // what is shown; made safe like an entry's name
  std::string status;  // of path and extent: "ok...", "skip: ...", ...
  uint32_t offset_field = 0;
  uint32_t size = 0;
  Mem8Extent extent = Mem8Extent::kSound;
  bool container = false;  // a .mem8 or the like: shown as a directory
};

/// The path table of an archive, with every member judged on its own.
struct Mem8Members {
  Buffer table;
  std::vector<Mem8Member> members;
  uint64_t data_at = 0;  // where the table ends
  uint64_t base = 0;     // what offsets count from: 0 or data_at
  uint32_t skipped = 0;  // members whose paths are no good

  uint64_t OffsetOf(const Mem8Member& member) const {
    return base + member.offset_field;
  }
};

/// Reads the table of `count` members that starts at byte 32 and looks at the
/// first bytes of each. Fails only when the table itself does not fit.
Result<Mem8Members> ReadMem8Members(const Source& file, uint16_t count);

}  // namespace ctxfs
