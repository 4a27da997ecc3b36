// SPDX-License-Identifier: Apache-2.0
//
// The central directory of a ZIP archive (docs/formats/zip.md, section 4), read
// in pieces. It can have gigabytes; only names and a few numbers stay in
// memory.
//
//   0   "PK\1\2", versions, flags, method, time and date
//   16  CRC-32, compressed size, size
//   28  lengths of name, extra field and comment; disk; attributes
//   42  offset of the local header; then name, extra field, comment
#include "core/formats/zip/directory.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "core/base/heap/heap_allowance.h"
#include "core/formats/zip/collector.h"
#include "core/formats/zip/coverage.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr unsigned kUnix = 3;
constexpr unsigned kMacOs = 19;
constexpr uint32_t kDosDirectory = 0x10;
constexpr uint32_t kMembersPerCheck = 4096;

/// The bytes [start, end) of a source, read in pieces of 1 MiB.
class Window {
 public:
  Window(const Source& source, uint64_t start, uint64_t end,
         const Request& request)
      : source_(source), request_(request), at_(start), end_(end) {}

  uint64_t at() const { return at_; }
  uint64_t remaining() const { return end_ - at_; }

  /// Returns the next `size` bytes, at most 256 KiB; valid until the next call.
  Result<Bytes> Peek(uint64_t size) {
    if (!InBounds(at_, size, piece_start_ + piece_.size()) ||
        at_ < piece_start_) {
      constexpr uint64_t kPiece = limits::kMiB;
      piece_ = CTXFS_TRY(ReadBuffer(source_, at_, std::min(kPiece, remaining()),
                                    "central directory", request_));
      piece_start_ = at_;
    }
    return Bytes(piece_.span())
        .subspan(static_cast<size_t>(at_ - piece_start_),
                 static_cast<size_t>(size));
  }
  void Skip(uint64_t size) { at_ += size; }

 private:
  const Source& source_;
  const Request& request_;
  uint64_t at_;
  const uint64_t end_;
  Buffer piece_;
  uint64_t piece_start_ = 0;
};

/// The fixed-size part of an entry.
struct Fixed {
  Member member = {};
  Attributes attributes = {};
  uint64_t offset = 0;  // of the local header
  // Bytes of the variable parts.
  size_t name = 0;
  size_t extra = 0;
  size_t comment = 0;
};

/// Whether the archive was written under DOS or Windows: FAT, HPFS, VFAT, and
/// NTFS by PKWARE's or Info-ZIP's number.
bool IsOfDos(unsigned system) {
  constexpr unsigned kSystems[] = {0, 6, 10, 11, 14};
  return std::find(std::begin(kSystems), std::end(kSystems), system) !=
         std::end(kSystems);
}

Fixed ReadFixed(Bytes entry) {
  ByteReader in(entry);
  in.Skip(4);
  const unsigned made_by = in.U16();
  in.Skip(2);
  Fixed fixed{.member = ReadCommonFields(in)};
  fixed.name = in.U16();
  fixed.extra = in.U16();
  fixed.comment = in.U16();
  in.Skip(4);
  const uint32_t attributes = in.U32();
  const unsigned system = made_by >> 8;
  const bool has_mode = system == kUnix || system == kMacOs;
  fixed.attributes = {.of_dos = IsOfDos(system),
                      .directory = (attributes & kDosDirectory) != 0,
                      .mode = has_mode ? attributes >> 16 : 0};
  fixed.offset = in.U32();
  return fixed;
}

Error BadEntry(uint64_t number, uint64_t at, const char* what) {
  return {Code::kCorrupt,
          fmt::format("directory_signature: member {} {}", number, what), at};
}

Status ReadEntry(Window& window, uint64_t number, Directory& directory,
                 Collector& collector) {
  const uint64_t at = window.at();
  if (window.remaining() < kEntrySize) {
    return BadEntry(number, at, "does not fit into the central directory");
  }
  const Bytes start = CTXFS_TRY(window.Peek(kEntrySize));
  if (LoadLe<uint32_t>(start.data()) != kEntrySignature) {
    return BadEntry(number, at, "has no signature");
  }
  Fixed fixed = ReadFixed(start);
  const uint64_t size = kEntrySize + fixed.name + fixed.extra + fixed.comment;
  if (window.remaining() < size) {
    return BadEntry(number, at, "runs past the end of the central directory");
  }
  const Bytes whole = CTXFS_TRY(window.Peek(size));
  const Bytes name = whole.subspan(kEntrySize, fixed.name);
  const Bytes extra = whole.subspan(kEntrySize + fixed.name, fixed.extra);
  ReadZip64(extra, fixed.member, fixed.offset);
  fixed.member.header =
      CheckedAdd(fixed.offset, directory.end.base).value_or(UINT64_MAX);
  window.Skip(size);
  return collector.Add(fixed.member, AsText(name), extra, fixed.attributes, at);
}

}  // namespace

uint64_t Directory::WarningBytes() const {
  uint64_t bytes = warnings.size() * sizeof(Warning);
  for (const Warning& warning : warnings) bytes += warning.text.size();
  return bytes;
}

uint64_t Directory::CopyBytes() const {
  return members.size() * sizeof(Member) + names.size() +
         repeated.size() * sizeof(uint32_t) + WarningBytes();
}

Result<Directory> ReadDirectory(const Source& source, const FormatSet* formats,
                                const ReadContext& context, bool salvage) {
  const EndRecord end = CTXFS_TRY(FindEndRecord(source, context, salvage));
  if (end.members > kMaxMembers) {
    return Error{Code::kLimit,
                 fmt::format("{} members are over the limit of {}", end.members,
                             kMaxMembers),
                 end.directory_offset};
  }
  Directory directory;
  directory.end = end;
  // FindEndRecord has checked that the directory has at least 46 bytes per
  // member: an entry is no shorter.
  const auto count = static_cast<size_t>(end.members);
  CTXFS_TRY(AdmitGrowth(directory.members, count));
  directory.members.reserve(count);
  Collector collector(directory);
  Window window(source, end.directory_offset,
                end.directory_offset + end.directory_size, context);
  for (uint64_t i = 0; i < end.members; ++i) {
    if (i % kMembersPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    CTXFS_TRY(ReadEntry(window, i, directory, collector));
  }
  CTXFS_TRY(collector.Finish(end.directory_offset, context));
  directory.end.unused_bytes += window.remaining();
  CTXFS_TRY(WarnOfOtherBytes(source, directory, formats, context));
  return directory;
}

}  // namespace ctxfs::zip
