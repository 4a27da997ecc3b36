// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/container/archive/packed_attributes.h"
#include "core/container/container.h"
#include "core/container/format.h"
#include "core/content/read_context.h"
#include "core/formats/zip/end_record.h"
#include "core/formats/zip/methods.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Why a member cannot be read, by the central directory alone.
enum class Fault : uint8_t {
  kNone,
  kOverlap,
  kZip64,
  kSize,
  kRatio,
  kTooLarge,
  kMethod,
  kEncrypted,  // ctxfs takes no passwords
};

/// How a fault is told: the key and the text of a warning about all members
/// that have it, and the text of an error about one.
struct FaultWords {
  const char* key;
  const char* of_many;
  const char* of_one;
};

constexpr FaultWords kFaultWords[] = {
    // by Fault
    {"", "", ""},
    {"overlap", "bytes belong to another member as well",
     "its bytes overlap another member or the central directory"},
    {"zip64", "a size or an offset is missing",
     "its size or offset is missing in the zip64 field"},
    {"stored_size", "the two sizes differ",
     "it is stored, and its two sizes differ"},
    {"too_large", "the size is more than the data can decode to",
     "its size is more than its data can decode to"},
    {"too_large", "the size is over the limit of 1 TiB",
     "its size is over the limit of 1 TiB"},
    // Reported with the method, in one warning for each method.
    {"method_unsupported", "the data", "cannot be decoded"},
    {"encrypted", "the data", "is encrypted"},
};

enum class Kind : uint8_t { kFile, kDirectory, kLink };

/// A member as the central directory describes it (docs/formats/zip.md, section
/// 4).
struct Member {
  uint64_t header = 0;  // of the local header, in bytes from the file's start
  uint64_t end = 0;     // where the next member or the directory starts
  uint64_t size = 0;    // decoded
  uint64_t stored_size = 0;
  uint32_t crc = 0;    // CRC-32 of the decoded bytes
  uint32_t name = 0;   // where the stored name starts in Directory::names
  uint32_t shown = 0;  // same, of the name that is shown
  uint32_t shown_length = 0;
  uint16_t name_length = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
  Kind kind = Kind::kFile;
  Fault fault = Fault::kNone;
  PackedAttributes attributes = {};

  /// Whether the data may be sound, but is of a kind that is not decoded.
  bool IsOpaque() const {
    return fault == Fault::kMethod || fault == Fault::kEncrypted;
  }
};

/// The first byte after a member, by the directory alone.
uint64_t EndOf(const Member& member);

/// How the data of a member that IsOpaque is made: "PPMd (method 98)",
/// "ZipCrypto".
std::string OpaqueText(const Member& member);

/// The central directory of an archive.
struct Directory {
  EndRecord end;
  std::vector<Member> members;
  std::string names;
  /// Members that have the name of another one, sorted by name and then in the
  /// order of the directory.
  std::vector<uint32_t> repeated;
  std::vector<Warning> warnings;
  uint64_t first_member = 0;  // byte of the first local header
  /// For a cut archive: the end of its last whole member, the least number of
  /// bytes that the file needs, and the missing part. 0 for any other.
  uint64_t members_end = 0;
  uint64_t needed = 0;
  std::string_view lost = "the central directory";

  std::string_view StoredName(const Member& member) const {
    return std::string_view(names).substr(member.name, member.name_length);
  }
  std::string_view ShownName(const Member& member) const {
    return std::string_view(names).substr(member.shown, member.shown_length);
  }

  /// Bytes of memory of a copy: of the warnings, of which there can be one for
  /// each of 65,536 methods, and of all.
  uint64_t WarningBytes() const;
  uint64_t CopyBytes() const;
};

/// Reads the end record and the central directory and checks them: sections 1
/// to 4 and 6. Reads no local header. Fails as FindEndRecord does, with
/// kCorrupt (directory_signature) and with kLimit. `salvage` is that of
/// FindEndRecord, `formats` that of WarnOfOtherBytes.
Result<Directory> ReadDirectory(const Source& source, const FormatSet* formats,
                                const ReadContext& context,
                                bool salvage = false);

/// Returns the members whose local headers follow one another from the start of
/// the file, for an archive that ReadDirectory refuses (section 10).
Result<Directory> SalvageDirectory(const Source& source,
                                   const ReadContext& context);

/// Puts the last of several members with one name before the others, in their
/// places: the first one keeps the name (section 9).
void PreferLastNames(Directory& directory);

}  // namespace ctxfs::zip
