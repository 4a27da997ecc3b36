// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/header_search.h"

#include "core/codec/checksum.h"

namespace ctxfs::tfrecord {
namespace {

constexpr size_t kLengthSize = 8;

/// Returns the first header in `piece`, which is at `at` of the source, or the
/// number of offsets at which none can begin.
size_t FindIn(Bytes piece, uint64_t at, uint64_t size) {
  const size_t end = piece.size() - kHeaderSize + 1;
  for (size_t i = 0; i < end; ++i) {
    const Bytes here = piece.subspan(i, kHeaderSize);
    const uint64_t room = size - at - i;
    if (StartsWithHeader(here) && room >= kAround &&
        LoadLe<uint64_t>(here.data()) <= room - kAround) {
      return i;
    }
  }
  return end;
}

}  // namespace

bool StartsWithHeader(Bytes head) {
  return head.size() >= kHeaderSize &&
         LoadLe<uint32_t>(head.data() + kLengthSize) ==
             Mask(Crc32c(head.first(kLengthSize)));
}

Result<uint64_t> FindHeader(WindowReader& reader, uint64_t size, uint64_t at,
                            const ReadContext& context) {
  while (at < size && size - at >= kHeaderSize) {
    CTXFS_TRY(context.Check());
    const Bytes piece = CTXFS_TRY(reader.At(at, WindowReader::Room(at, size)));
    const size_t found = FindIn(piece, at, size);
    at += found;
    if (found <= piece.size() - kHeaderSize) return at;
  }
  return size;
}

}  // namespace ctxfs::tfrecord
