// SPDX-License-Identifier: Apache-2.0
//
// Salvages the members of an archive whose directory cannot be read: walks
// local headers from the start of the file, each directly after the data of the
// previous member (docs/formats/zip.md, section 10).
#include <algorithm>
#include <utility>

#include "core/formats/zip/collector.h"
#include "core/formats/zip/descriptor.h"
#include "core/formats/zip/directory.h"
#include "core/formats/zip/limits.h"
#include "core/formats/zip/records.h"

namespace ctxfs::zip {
namespace {

constexpr uint16_t kSizesFollow = 0x0008;
constexpr uint32_t kSalvagedPerCheck = 256;

/// A member, from its local header.
struct Local {
  Member member;
  Buffer text;  // name and extra field
  size_t name_length = 0;
  uint64_t end = 0;  // of its data and data descriptor
};

/// The record at an offset: a member, a truncated member, or neither.
struct Found {
  std::optional<Local> local;
  uint64_t needed = 0;  // truncated: minimum size of the whole file
};

/// Reads `size` bytes at `at` (<= file size), fewer at the end of the file.
Result<Buffer> ReadSome(const Source& source, uint64_t at, uint64_t size,
                        const Request& request) {
  return ReadBuffer(source, at, std::min(size, source.size() - at), "record",
                    request);
}

/// Whether `bytes` start with `signature` or end within it.
bool MayStart(Bytes bytes, uint32_t signature) {
  const auto expected = LittleEndian<uint32_t>(&signature);
  const size_t length = std::min(bytes.size(), expected.size());
  return AsText(bytes.first(length)) == AsText(Bytes(expected).first(length));
}

/// Finds the end of a member whose data starts at byte `data`.
Result<Found> Delimit(const Source& source, uint64_t data, Local local,
                      const ReadContext& context) {
  Member& member = local.member;
  if ((member.flags & kSizesFollow) == 0 || member.stored_size > 0) {
    local.end = CheckedAdd(data, member.stored_size).value_or(UINT64_MAX);
    if (local.end > source.size()) return Found{std::nullopt, local.end};
    return Found{std::move(local)};
  }
  const std::optional<Descriptor> found =
      CTXFS_TRY(FindDescriptor(source, data, context));
  if (!found) return Found{std::nullopt, source.size() + 1};
  member.crc = found->crc;
  member.stored_size = found->stored_size;
  member.size = found->size;
  local.end = found->end;
  return Found{std::move(local)};
}

Result<Found> ReadLocal(const Source& source, uint64_t at,
                        const ReadContext& context) {
  const Buffer fixed = CTXFS_TRY(ReadSome(source, at, kLocalSize, context));
  // At least 3 bytes must match, because all records start with the same two.
  if (fixed.size() < 3 || !MayStart(fixed.span(), kLocalSignature)) {
    return Found();
  }
  if (fixed.size() < kLocalSize) return Found{std::nullopt, at + kLocalSize};
  ByteReader in(fixed.span(), at);
  in.Skip(6);
  Local local;
  local.member = ReadCommonFields(in);
  local.member.header = at;
  local.name_length = in.U16();
  const uint64_t text = local.name_length + in.U16();
  const uint64_t data = at + kLocalSize + text;
  if (data > source.size()) return Found{std::nullopt, data};
  local.text = CTXFS_TRY(ReadSome(source, at + kLocalSize, text, context));
  uint64_t no_offset = 0;  // local headers have none
  ReadZip64(Bytes(local.text.span()).subspan(local.name_length), local.member,
            no_offset);
  return Delimit(source, data, std::move(local), context);
}

/// Returns the minimum size of a file whose directory of `members` members
/// starts at byte `at`, including all entries and the end records; 0 if the
/// bytes from `at` on are not a directory and end records.
Result<uint64_t> NeededFrom(const Source& source, uint64_t at, uint64_t members,
                            const ReadContext& context) {
  while (members > 0 && at < source.size()) {
    CTXFS_TRY(context.Check());
    const Buffer entry = CTXFS_TRY(ReadSome(source, at, kEntrySize, context));
    if (!MayStart(entry.span(), kEntrySignature)) return uint64_t{0};
    if (entry.size() < kEntrySize) break;
    ByteReader in(entry.span().subspan(kEntryLengthsAt));
    at += kEntrySize + in.U16();
    at += in.U16();
    at += in.U16();
    --members;
  }
  if (at >= source.size() || members > 0) {
    return at + members * kEntrySize + kEndSize;
  }
  const Buffer end =
      CTXFS_TRY(ReadSome(source, at, sizeof kEndSignature, context));
  if (MayStart(end.span(), kEndSignature)) return at + kEndSize;
  if (MayStart(end.span(), kEnd64Signature)) {
    return at + kEnd64Size + kLocatorSize + kEndSize;
  }
  return uint64_t{0};
}

}  // namespace

Result<Directory> SalvageDirectory(const Source& source,
                                   const ReadContext& context) {
  Directory directory;
  Collector collector(directory);
  uint64_t at = 0;
  uint64_t cut = 0;
  while (directory.members.size() < kMaxSalvaged) {
    if (directory.members.size() % kSalvagedPerCheck == 0) {
      CTXFS_TRY(context.Check());
    }
    const Found found = CTXFS_TRY(ReadLocal(source, at, context));
    cut = found.needed;
    if (!found.local) break;
    const Local& local = *found.local;
    const Bytes text = local.text.span();
    CTXFS_TRY(collector.Add(local.member, AsText(text.first(local.name_length)),
                            text.subspan(local.name_length), {}, at));
    at = local.end;
  }
  const uint64_t members = directory.members.size();
  const uint64_t entries = (members + 1) * kEntrySize + kEndSize;
  uint64_t needed = CheckedAdd(cut, entries).value_or(UINT64_MAX);
  if (cut == 0) {
    needed = CTXFS_TRY(NeededFrom(source, at, members, context));
  }
  if (needed > source.size()) directory.needed = needed;
  const bool has_entry = InBounds(at, kEntrySize, source.size());
  if (cut == 0 && has_entry) directory.lost = "the end record";
  directory.members_end = at;
  CTXFS_TRY(collector.Finish(at, context));
  return directory;
}

}  // namespace ctxfs::zip
