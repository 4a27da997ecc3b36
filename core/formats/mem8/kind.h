// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs::mem8 {

/// The kind of a file with a magic or an extension of the MEM8 family
/// (docs/formats/mem8.md, section 1). Some kinds share only the magic.
enum class Mem8Kind : uint8_t {
  kMem8,
  kMem8BigEndian,
  kArchive,
  kPacked,  // a zstd frame, whose contents may be of any kind
  kBlocks,
  kSections,
  kM8Sections,
  kFourCc,
  kNative,
  kCapsule,
  kMemories,
  kSessions,
  kT8r,
  kZlib,
  kJson,
  kText,
  kUnknown,
};

/// Returns the kind from the first bytes alone. In version 1, .mem8 files and
/// three other kinds look alike; the result is kMem8 unless the bytes exclude
/// it.
Mem8Kind Mem8KindOfHead(Bytes head);

/// Returns the kind of a file of `size` bytes that starts with `head`. `crc`:
/// CRC-32 of its bytes from 12 on; nullopt if the file is too short or too
/// large for a .mem8.
Mem8Kind Mem8KindOf(Bytes head, uint64_t size, std::optional<uint32_t> crc);

/// Returns an error that names a kind that ctxfs does not open.
Error NotMem8(Mem8Kind kind);

}  // namespace ctxfs::mem8
