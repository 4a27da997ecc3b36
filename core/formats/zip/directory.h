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

/// Why a member cannot be read, according to the central directory.
enum class Fault : uint8_t {
  kNone,
  kOverlap,
  kZip64,
  kSize,
  kRatio,
  kTooLarge,
  kMethod,
  kEncrypted,  // ctxfs accepts no passwords
};

/// Texts for a fault: the key and text of a warning about all affected members,
/// and the text of an error about one member.
struct FaultWords {
  const char* key;
  const char* of_many;
  const char* of_one;
};

constexpr FaultWords kFaultWords[] = {
    // indexed by Fault
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
    // One warning for each method, with the method's name between the words.
    {"method_unsupported", "the data", "cannot be decoded"},
    {"encrypted", "the data", "is encrypted"},
};

enum class Kind : uint8_t { kFile, kDirectory, kLink };

/// A member, as described by the central directory or, if salvaged, by its
/// local header and data descriptor (docs/formats/zip.md, sections 4 and 10).
struct Member {
  uint64_t header = 0;  // of the local header, byte of the file
  uint64_t end = 0;     // start of the next member or of the directory
  uint64_t size = 0;    // decoded
  uint64_t stored_size = 0;
  uint32_t crc = 0;    // CRC-32 of the decoded bytes
  uint32_t name = 0;   // start of the stored name in Directory::names
  uint32_t shown = 0;  // likewise, of the shown name
  uint32_t shown_length = 0;
  uint16_t name_length = 0;
  uint16_t flags = 0;
  uint16_t method = 0;
  Kind kind = Kind::kFile;
  Fault fault = Fault::kNone;
  PackedAttributes attributes = {};

  /// Whether ctxfs cannot decode this kind of data, which may be intact.
  bool IsOpaque() const {
    return fault == Fault::kMethod || fault == Fault::kEncrypted;
  }
};

/// Returns the first byte after a member, according to the directory.
uint64_t EndOf(const Member& member);

/// Returns the name of an opaque member's coding: "PPMd (method 98)",
/// "ZipCrypto".
std::string OpaqueText(const Member& member);

struct Directory {
  EndRecord end;
  std::vector<Member> members;
  std::string names;
  /// Members with repeated names, sorted by name, then in directory order.
  std::vector<uint32_t> repeated;
  std::vector<Warning> warnings;
  uint64_t first_member = 0;  // of the first local header; byte of the file
  /// For a truncated archive: the end of the last whole member, the minimum
  /// size of the file, and the missing part. Otherwise the first two are 0.
  uint64_t members_end = 0;
  uint64_t needed = 0;
  std::string_view lost = "the central directory";

  std::string_view StoredName(const Member& member) const {
    return std::string_view(names).substr(member.name, member.name_length);
  }
  std::string_view ShownName(const Member& member) const {
    return std::string_view(names).substr(member.shown, member.shown_length);
  }

  /// Return how many bytes of memory a copy takes: of the warnings, or of the
  /// whole directory. There may be a warning for each of 65,536 methods.
  uint64_t WarningBytes() const;
  uint64_t CopyBytes() const;
};

/// Reads and checks the end record and the central directory (sections 1 to 4
/// and 6). Reads no local header. Fails as FindEndRecord does, with kCorrupt
/// (directory_signature) and with kLimit. `salvage` is passed to FindEndRecord,
/// `formats` to WarnOfOtherBytes.
Result<Directory> ReadDirectory(const Source& source, const FormatSet* formats,
                                const ReadContext& context,
                                bool salvage = false);

/// For an archive that ReadDirectory refuses: returns the members whose local
/// headers follow one another from the start of the file (section 10).
Result<Directory> SalvageDirectory(const Source& source,
                                   const ReadContext& context);

/// Swaps members with equal names so that the last of them comes first, because
/// a mount gives the name to the first of equal names (section 9).
void PreferLastNames(Directory& directory);

}  // namespace ctxfs::zip
