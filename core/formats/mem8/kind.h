// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs::mem8 {

/// The kind of a file with a magic or an extension of the MEM8 family
/// (docs/formats/mem8.md, section 1). Some kinds share nothing but the magic.
enum class Mem8Kind : uint8_t {
  kMem8,
  kMem8BigEndian,
  kArchive,
  kPacked,  // one zstd frame, which must be decoded to know its contents
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

/// Returns the kind by the first bytes alone. With version 1, .mem8 files and
/// three other kinds look alike: kMem8 unless the bytes rule it out.
Mem8Kind Mem8KindOfHead(Bytes head);

/// Returns the kind of a file of `size` bytes that starts with `head`. `crc` is
/// the CRC-32 of its bytes from 12 on, or nullopt for a file that is too large
/// to be a .mem8.
Mem8Kind Mem8KindOf(Bytes head, uint64_t size, std::optional<uint32_t> crc);

/// Returns the error for a kind that ctxfs does not open, with its name.
Error NotMem8(Mem8Kind kind);

}  // namespace ctxfs::mem8
