// SPDX-License-Identifier: Apache-2.0
//
// Identifies the formats of the MEM8 family (docs/formats/mem8.md, section 1),
// including other formats that start with "MEM8" or are called .mem8.
#include "core/formats/mem8/kind.h"

#include <algorithm>
#include <string_view>

#include "core/codec/codec.h"
#include "core/container/foreign/foreign_formats.h"
#include "core/formats/mem8/image.h"

namespace ctxfs::mem8 {
namespace {

using namespace std::string_view_literals;

constexpr size_t kCountAt = 6;
constexpr size_t kCrcAt = 8;
constexpr size_t kFrequencyAt = 10;
constexpr uint64_t kFrequency440 = 0x407B800000000000;  // the double 440.0
constexpr uint64_t kBlocksHeader = 30;
constexpr uint64_t kBlock = 4096;

uint16_t U16At(Bytes head, size_t at) {
  return LoadLe<uint16_t>(head.data() + at);
}
uint32_t U32At(Bytes head, size_t at) {
  return LoadLe<uint32_t>(head.data() + at);
}

bool IsPrintable(std::byte b) {
  return b >= std::byte{' '} && b < std::byte{0x7F};
}

/// Returns the kind of a version 1 file. The other formats have recognisable
/// values where a .mem8 has its string table.
Mem8Kind KindOfVersion1(Bytes head) {
  if (head.size() >= kFrequencyAt + 8 &&
      LoadLe<uint64_t>(head.data() + kFrequencyAt) == kFrequency440) {
    return Mem8Kind::kBlocks;
  }
  constexpr size_t kEntryAt = 16;
  constexpr size_t kEntrySize = 16;
  if (head.size() < kEntryAt + 8) return Mem8Kind::kMem8;
  // A section file has a size at 8 and a time at 16, both u64 and below 2^32.
  // The upper halves, which are 0, are where a .mem8 has its index offset and
  // the bytes after an empty string table.
  if (U16At(head, kCountAt) != 0 && U32At(head, 12) == 0 &&
      U32At(head, 20) == 0) {
    return Mem8Kind::kSections;
  }
  if (head.size() >= kEntryAt + kEntrySize && U16At(head, kCountAt) != 0 &&
      std::all_of(head.begin() + kEntryAt, head.begin() + kEntryAt + 4,
                  IsPrintable) &&
      head[29] == std::byte{0} && head[30] == std::byte{0} &&
      head[31] == std::byte{0}) {
    return Mem8Kind::kFourCc;
  }
  return Mem8Kind::kMem8;
}

bool IsZlib(Bytes head) {
  constexpr unsigned kModulus = 31;
  if (head.size() < 2 || head[0] != std::byte{0x78}) return false;
  return (0x7800U + std::to_integer<unsigned>(head[1])) % kModulus == 0;
}

}  // namespace

Mem8Kind Mem8KindOfHead(Bytes head) {
  const std::string_view text = AsText(head);
  if (text.empty()) return Mem8Kind::kUnknown;
  if (LooksLikeZstd(head)) return Mem8Kind::kPacked;
  if (text.starts_with("M8AR") || text.starts_with("RA8M")) {
    return Mem8Kind::kArchive;
  }
  if (text.starts_with("M8\x02\x09")) return Mem8Kind::kM8Sections;
  if (text.starts_with("M8MEGA")) return Mem8Kind::kSessions;
  if (text.starts_with("M8MEM")) return Mem8Kind::kMemories;
  if (text.starts_with("T8R\0"sv)) return Mem8Kind::kT8r;
  if (text.starts_with("MEM8,")) return Mem8Kind::kCapsule;
  if (text.starts_with("MEM8") || text.starts_with("8MEM")) {
    const bool version1 =
        head.size() >= kVersionAt + 2 && U16At(head, kVersionAt) == 1;
    return version1 ? KindOfVersion1(head) : Mem8Kind::kMem8;
  }
  if (text.substr(std::min<size_t>(8, text.size())).starts_with("8MEM")) {
    return Mem8Kind::kNative;
  }
  if (IsZlib(head)) return Mem8Kind::kZlib;
  if (text[0] == '{' || text[0] == '[') return Mem8Kind::kJson;
  return LooksLikeText(head) ? Mem8Kind::kText : Mem8Kind::kUnknown;
}

Mem8Kind Mem8KindOf(Bytes head, uint64_t size, std::optional<uint32_t> crc) {
  const std::string_view text = AsText(head);
  const bool magic = text.starts_with("MEM8") || text.starts_with("8MEM");
  if (!magic || text.starts_with("MEM8,")) {
    const Mem8Kind kind = Mem8KindOfHead(head);
    const bool whole_blocks = size % kBlock == 0;
    return kind == Mem8Kind::kNative && !whole_blocks ? Mem8Kind::kUnknown
                                                      : kind;
  }
  constexpr size_t kHeader = 16;
  if (head.size() < kHeader || U16At(head, kVersionAt) != 1) {
    return Mem8Kind::kMem8;
  }
  const uint32_t stored = U32At(head, kCrcAt);
  if (crc == stored) return Mem8Kind::kMem8;
  if (crc == __builtin_bswap32(stored)) return Mem8Kind::kMem8BigEndian;
  if (size == kBlocksHeader + kBlock * U32At(head, kCountAt)) {
    return Mem8Kind::kBlocks;
  }
  return stored == size ? Mem8Kind::kFourCc : Mem8Kind::kSections;
}

Error NotMem8(Mem8Kind kind) {
  constexpr std::pair<Mem8Kind, std::string_view> kNames[] = {
      {Mem8Kind::kBlocks, ": MEM8 block file, not .mem8"},
      {Mem8Kind::kSections, ": MEM8 section file, not .mem8"},
      {Mem8Kind::kM8Sections, ": M8 section file, not .mem8"},
      {Mem8Kind::kFourCc, ": MEM8 4cc file, not .mem8"},
      {Mem8Kind::kNative, ": native MEM8 block file, not .mem8"},
      {Mem8Kind::kCapsule, ": MEM8 text capsule, not binary .mem8"},
      {Mem8Kind::kMemories, ": M8MEM memory file, not .mem8"},
      {Mem8Kind::kSessions, ": M8MEGA session file, not .mem8"},
      {Mem8Kind::kT8r, ": T8R file, not .mem8"},
      {Mem8Kind::kZlib, ": zlib stream, not binary .mem8"},
      {Mem8Kind::kPacked,
       ": zstd frame that holds neither a .mem8 nor an .m8a"},
      {Mem8Kind::kJson, ": JSON text, not binary .mem8"},
      {Mem8Kind::kText, ": text, not binary .mem8"}};
  Error error{Code::kNotContainer, "not a container of a known format", 0};
  for (const auto& [named, name] : kNames) {
    if (named == kind) error.what += name;
  }
  return error;
}

}  // namespace ctxfs::mem8
