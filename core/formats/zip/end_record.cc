// SPDX-License-Identifier: Apache-2.0
//
// The records at the end of a ZIP archive (docs/formats/zip.md, sections 1 to
// 3).
#include "core/formats/zip/end_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/base/bytes.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr uint64_t kMaxComment = 65'535;

/// Offset of the end record, and bytes of its comment.
struct Place {
  uint64_t at;
  uint64_t comment;
};

/// The fields that both kinds of end record have.
struct Fields {
  uint64_t disk = 0;
  uint64_t directory_disk = 0;
  uint64_t disk_members = 0;
  uint64_t members = 0;
  uint64_t size = 0;
  uint64_t offset = 0;

  /// Whether a 16- or 32-bit field is all ones, so that a zip64 record has the
  /// value.
  bool NeedZip64() const {
    return disk == 0xFFFF || directory_disk == 0xFFFF ||
           disk_members == 0xFFFF || members == 0xFFFF || size == 0xFFFFFFFF ||
           offset == 0xFFFFFFFF;
  }
};

/// Searches backwards from byte `size`. Returns the last record whose comment
/// ends at byte `size`; if there is none, the last record whose comment ends
/// before it.
Result<std::optional<Place>> FindSignature(const Source& source, uint64_t size,
                                           const Request& request) {
  if (size < kEndSize) return std::optional<Place>();
  const uint64_t length = std::min(size, kEndSize + kMaxComment);
  const uint64_t start = size - length;
  const Buffer tail = CTXFS_TRY(
      ReadBuffer(source, start, length, "end of the archive", request));
  std::optional<Place> fits;
  for (uint64_t at = length - kEndSize + 1; at-- > 0;) {
    const std::byte* record = tail.data() + at;
    if (LoadLe<uint32_t>(record) != kEndSignature) continue;
    const uint64_t comment = LoadLe<uint16_t>(record + kEndSize - 2);
    const uint64_t room = length - at - kEndSize;
    if (comment == room) return std::optional<Place>({start + at, comment});
    if (comment < room && !fits) fits = Place{start + at, comment};
  }
  return fits;
}

Error BadZip64(std::string what, uint64_t offset) {
  return {Code::kCorrupt, "zip64: " + std::move(what), offset};
}

Result<bool> HasSignature(const Source& source, uint64_t at, uint64_t size,
                          uint32_t signature, const Request& request) {
  if (!InBounds(at, size, source.size())) return false;
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(source, at, 4, "signature", request));
  return LoadLe<uint32_t>(bytes.data()) == signature;
}

/// Finds the zip64 record of the locator at `locator`: directly before the
/// locator, else at the locator's offset. Python's zipfile uses this order,
/// too. In a file of several archives, the offset may lead to the record of an
/// earlier archive.
Result<uint64_t> ReadLocator(const Source& source, uint64_t locator,
                             bool salvage, const Request& request) {
  const Buffer bytes = CTXFS_TRY(
      ReadBuffer(source, locator, kLocatorSize, "zip64 locator", request));
  ByteReader in(bytes.span(), locator);
  in.Skip(4);
  const uint32_t disk = in.U32();
  const uint64_t offset = in.U64();
  const uint32_t disks = in.U32();
  if (disk != 0 || disks > 1) {
    return Error{Code::kVersion,
                 fmt::format("multi_disk: the archive has {} disks, and only "
                             "archives of one are read",
                             disks),
                 locator};
  }
  if (!salvage && !InBounds(offset, kEnd64Size, source.size())) {
    return BadZip64(fmt::format("the locator points to byte {}, which is "
                                "outside the file of {} bytes",
                                offset, source.size()),
                    locator);
  }
  const uint64_t before = locator - std::min(locator, kEnd64Size);
  for (const uint64_t at : {before, offset}) {
    const bool found = CTXFS_TRY(
        HasSignature(source, at, kEnd64Size, kEnd64Signature, request));
    if (found && at < locator) return at;
  }
  return BadZip64(
      fmt::format("the locator points to byte {}, where no record is", offset),
      locator);
}

Result<Fields> ReadEnd64(const Source& source, uint64_t at,
                         const Request& request) {
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(source, at, kEnd64Size, "zip64 record", request));
  ByteReader in(bytes.span(), at);
  in.Skip(16);  // signature, size of the rest, versions
  return Fields{.disk = in.U32(),
                .directory_disk = in.U32(),
                .disk_members = in.U64(),
                .members = in.U64(),
                .size = in.U64(),
                .offset = in.U64()};
}

/// Returns the number of bytes between the zip64 record at `at` and its
/// locator.
Result<uint64_t> UnusedBytes(const Source& source, uint64_t at,
                             uint64_t locator, const Request& request) {
  constexpr uint64_t kBeforeRest = 12;
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(source, at, kBeforeRest, "zip64 record", request));
  const uint64_t room = locator - at - kBeforeRest;
  return room - std::min(room, LoadLe<uint64_t>(bytes.data() + 4));
}

Result<Fields> ReadEnd(const Source& source, uint64_t at,
                       const Request& request) {
  const Buffer bytes =
      CTXFS_TRY(ReadBuffer(source, at, kEndSize, "end record", request));
  ByteReader in(bytes.span(), at);
  in.Skip(4);
  return Fields{.disk = in.U16(),
                .directory_disk = in.U16(),
                .disk_members = in.U16(),
                .members = in.U16(),
                .size = in.U32(),
                .offset = in.U32()};
}

/// Whether the directory, at the stored offset in the file, surely ends
/// directly before the end record at `at`. If so, bytes before `at` that look
/// like a zip64 locator are the end of a name, an extra field or a comment.
/// False for an empty directory, or if the offset is relative to another byte.
Result<bool> EndsDirectory(const Source& source, const Fields& fields,
                           uint64_t at, const Request& request) {
  if (fields.NeedZip64() || fields.size < kEntrySize) return false;
  if (CheckedAdd(fields.offset, fields.size) != at) return false;
  return HasSignature(source, fields.offset, kEntrySize, kEntrySignature,
                      request);
}

/// Returns the offset of the zip64 record for the end record at `at`; nullopt
/// if there is none. Fails with kCorrupt and kVersion.
Result<std::optional<uint64_t>> FindEnd64(const Source& source,
                                          const Fields& fields, uint64_t at,
                                          bool salvage,
                                          const Request& request) {
  using Found = std::optional<uint64_t>;
  if (at < kLocatorSize) return Found();
  const uint64_t locator = at - kLocatorSize;
  const bool found = CTXFS_TRY(
      HasSignature(source, locator, kLocatorSize, kLocatorSignature, request));
  if (!found || CTXFS_TRY(EndsDirectory(source, fields, at, request)))
    return Found();
  return Found(CTXFS_TRY(ReadLocator(source, locator, salvage, request)));
}

Status CheckDisks(const Fields& fields, uint64_t at) {
  if (fields.disk == 0 && fields.directory_disk == 0 &&
      fields.disk_members == fields.members) {
    return {};
  }
  return Error{Code::kVersion,
               "multi_disk: the archive is a part of one on several disks", at};
}

/// Computes the position of the directory, which ends at `records`, where the
/// end records start (sections 3 and 4).
Status PlaceDirectory(const Fields& fields, uint64_t records, EndRecord& end) {
  const std::optional<uint64_t> length = CheckedAdd(fields.offset, fields.size);
  if (!length || *length > records) {
    return Error{Code::kCorrupt,
                 fmt::format("directory_out_of_range: a central directory of "
                             "{} bytes at {} does not end before byte {}",
                             fields.size, fields.offset, records),
                 records};
  }
  end.base = records - *length;
  end.directory_offset = records - fields.size;
  end.directory_size = fields.size;
  end.members = fields.members;
  if (fields.members > fields.size / kEntrySize) {
    return Error{
        Code::kCorrupt,
        fmt::format(
            "count: {} members do not fit into a central directory of {} bytes",
            fields.members, fields.size),
        records};
  }
  return {};
}

}  // namespace

Result<EndRecord> FindEndRecord(const Source& source, const Request& request,
                                bool salvage) {
  const std::optional<Place> place =
      CTXFS_TRY(FindSignature(source, source.size(), request));
  if (!place) {
    return Error{Code::kCorrupt,
                 "no_eocd: there is no end record in the last 65,557 bytes",
                 source.size()};
  }
  const uint64_t at = place->at;
  Fields fields = CTXFS_TRY(ReadEnd(source, at, request));
  EndRecord end;
  end.comment_bytes = place->comment;
  end.trailing_bytes = source.size() - at - kEndSize - end.comment_bytes;
  uint64_t records = at;
  const std::optional<uint64_t> record =
      CTXFS_TRY(FindEnd64(source, fields, at, salvage, request));
  if (record) {
    fields = CTXFS_TRY(ReadEnd64(source, *record, request));
    records = *record;
    end.zip64 = true;
    end.unused_bytes =
        CTXFS_TRY(UnusedBytes(source, *record, at - kLocatorSize, request));
  }
  CTXFS_TRY(CheckDisks(fields, records));
  CTXFS_TRY(PlaceDirectory(fields, records, end));
  return end;
}

Result<uint64_t> ArchiveBefore(const Source& source, uint64_t end,
                               const Request& request) {
  const std::optional<Place> place =
      CTXFS_TRY(FindSignature(source, end, request));
  if (!place || place->at + kEndSize + place->comment != end) return end;
  const uint64_t at = place->at;
  Fields fields = CTXFS_TRY(ReadEnd(source, at, request));
  uint64_t records = at;
  const bool zip64 =
      CTXFS_TRY(at < kLocatorSize + kEnd64Size
                    ? Result<bool>(false)
                    : HasSignature(source, at - kLocatorSize - kEnd64Size,
                                   kEnd64Size, kEnd64Signature, request)) &&
      !CTXFS_TRY(EndsDirectory(source, fields, at, request));
  if (zip64) {
    records = at - kLocatorSize - kEnd64Size;
    fields = CTXFS_TRY(ReadEnd64(source, records, request));
  }
  EndRecord found;
  return PlaceDirectory(fields, records, found) ? found.base : end;
}

bool HasEndRecord(const Source& source, const Request& request) {
  const Result<std::optional<Place>> place =
      FindSignature(source, source.size(), request);
  return !place || *place;
}

}  // namespace ctxfs::zip
