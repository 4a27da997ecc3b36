// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"
#include "core/base/result.h"

namespace ctxfs {

/// What a file is that has a magic or an extension of the MEM8 family
/// (docs/mem8.md, section 1). Some relatives share the magic and nothing else.
enum class Mem8Kind : uint8_t {
  kMem8,
  kMem8BigEndian,
  kArchive,
  kPacked,  // one zstd frame: what is in it has to be seen
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

/// What the first bytes alone say. Where the version is 1, .mem8 files and
/// three relatives look alike: those that are surely none are told apart.
Mem8Kind Mem8KindOfHead(Bytes head);

/// What a file of `size` bytes is that starts with `head`. `crc` is the CRC-32
/// of its bytes from 12 on, or nothing for a file too large to be a .mem8.
Mem8Kind Mem8KindOf(Bytes head, uint64_t size, std::optional<uint32_t> crc);

/// The refusal of a kind that is not ours, naming it.
Error NotMem8(Mem8Kind kind);

}  // namespace ctxfs
