// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/container/container.h"
#include "core/content/read_context.h"
#include "core/formats/zip/end_record.h"
#include "core/io/source.h"

namespace ctxfs::zip {

/// Why a member cannot be read, by the central directory alone.
enum class Fault : uint8_t {
  kNone,
  kOverlap,
  kZip64,
  kMethod,
  kSize,
  kTooLarge,   // over the limit of zstd, or more than deflate can produce
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
    {"method_unsupported", "the method is not supported",
     "its compression method is not supported"},
    {"stored_size", "the two sizes differ",
     "it is stored, and its two sizes differ"},
    {"too_large", "the size is over the limit",
     "it is over the limit of 1 GiB for a zstd member"},
    {"encrypted", "the data is encrypted", "it is encrypted"},
};

enum class Kind : uint8_t { kFile, kDirectory, kLink };

/// Values of Member::method.
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflate = 8;
constexpr uint16_t kZstd = 93;

/// A member as the central directory describes it (docs/zip.md, section 4).
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
};

/// The central directory of an archive.
struct Directory {
  EndRecord end;
  std::vector<Member> members;
  std::string names;
  /// Members that have the name of another one, sorted by name and then in the
  /// order of the directory.
  std::vector<uint32_t> repeated;
  std::vector<Warning> warnings;

  std::string_view StoredName(const Member& member) const {
    return std::string_view(names).substr(member.name, member.name_length);
  }
  std::string_view ShownName(const Member& member) const {
    return std::string_view(names).substr(member.shown, member.shown_length);
  }
};

/// Reads the end record and the central directory and checks them: sections 1
/// to 4 and 6. Reads no local header. Fails with kCorrupt, kVersion or kLimit,
/// as FindEndRecord does and with directory_signature.
Result<Directory> ReadDirectory(const Source& source,
                                const ReadContext& context);

/// Returns the members whose local headers follow one another from the start of
/// the file, for an archive that ReadDirectory refuses (section 10).
Result<Directory> SalvageDirectory(const Source& source,
                                   const ReadContext& context);

/// Puts the last of several members with one name before the others, in their
/// places: the first one keeps the name (section 9).
void PreferLastNames(Directory& directory);

}  // namespace ctxfs::zip
