// SPDX-License-Identifier: Apache-2.0
//
// Data descriptors, which ctxfs reads only in an archive without a directory:
//
//   0   "PK\7\10", CRC-32
//   8   compressed size and size, of 4 or of 8 bytes each
#include "core/formats/zip/descriptor.h"

#include <algorithm>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/limits.h"

namespace ctxfs::zip {
namespace {

constexpr std::string_view kSignature = "PK\7\10";
constexpr size_t kNarrow = 16;
constexpr size_t kWide = 24;

/// Whether `bytes`, which follow a descriptor, start with "PK", as every record
/// does, or are empty because the archive ends.
bool GoesOn(Bytes bytes) {
  const std::string_view text = AsText(bytes);
  return text.substr(0, 2) == kSignature.substr(0, 2) || text.empty();
}

/// Parses `bytes`, which start with the signature at byte `at` of the file, as
/// the descriptor of `stored` bytes of data; nullopt if they are not a
/// descriptor.
std::optional<Descriptor> Read(Bytes bytes, uint64_t at, uint64_t stored) {
  if (bytes.size() < kNarrow) return std::nullopt;
  ByteReader narrow(bytes.subspan(kSignature.size()));
  Descriptor found;
  found.crc = narrow.U32();
  found.stored_size = narrow.U32();
  found.size = narrow.U32();
  found.end = at + kNarrow;
  // Empty data has CRC 0. With another CRC, a size of 0 is really the upper
  // half of an 8-byte compressed size.
  const bool fits =
      found.stored_size == stored && (found.size > 0 || found.crc == 0);
  if (fits && GoesOn(bytes.subspan(kNarrow))) return found;
  if (bytes.size() < kWide) return fits ? std::optional(found) : std::nullopt;
  ByteReader wide(bytes.subspan(8));
  if (wide.U64() != stored) return fits ? std::optional(found) : std::nullopt;
  found.stored_size = stored;
  found.size = wide.U64();
  found.end = at + kWide;
  return found;
}

}  // namespace

Result<std::optional<Descriptor>> FindDescriptor(const Source& source,
                                                 uint64_t data,
                                                 const ReadContext& context) {
  // Most members are short, so the first piece is short.
  constexpr uint64_t kFirstPiece = 4 * limits::kKiB;
  constexpr uint64_t kMaxPiece = limits::kMiB;
  // Pieces overlap by the longest descriptor and the signature after it.
  constexpr uint64_t kOverlap = kWide + kSignature.size();
  uint64_t length = kFirstPiece;
  for (uint64_t from = data; from < source.size(); from += length) {
    if (from > data) length = std::min(2 * length, kMaxPiece);
    CTXFS_TRY(context.Check());
    const uint64_t size = std::min(length + kOverlap, source.size() - from);
    const Buffer piece =
        CTXFS_TRY(ReadBuffer(source, from, size, "data of a member", context));
    const std::string_view text = AsText(piece.span());
    for (size_t at = text.find(kSignature); at < length;
         at = text.find(kSignature, at + 1)) {
      const std::optional<Descriptor> found =
          Read(piece.span().subspan(at), from + at, from + at - data);
      if (found) return found;
    }
  }
  return std::optional<Descriptor>();
}

}  // namespace ctxfs::zip
