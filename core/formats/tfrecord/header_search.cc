// SPDX-License-Identifier: Apache-2.0
#include "core/formats/tfrecord/header_search.h"

#include "core/codec/checksum.h"

namespace ctxfs::tfrecord {
namespace {

constexpr size_t kLengthSize = 8;

}  // namespace

bool StartsWithHeader(Bytes head) {
  return head.size() >= kHeaderSize &&
         LoadLe<uint32_t>(head.data() + kLengthSize) ==
             Mask(Crc32c(head.first(kLengthSize)));
}

bool EndsWithin(Bytes header, uint64_t room) {
  return room >= kAround && LoadLe<uint64_t>(header.data()) <= room - kAround;
}

Result<uint64_t> FindHeader(WindowReader& reader, uint64_t size, uint64_t at,
                            const ReadContext& context) {
  while (at < size && size - at >= kHeaderSize) {
    CTXFS_TRY(context.Check());
    Bytes piece = CTXFS_TRY(reader.At(at, WindowReader::Room(at, size)));
    for (; piece.size() >= kHeaderSize; piece = piece.subspan(1), ++at) {
      if (StartsWithHeader(piece) && EndsWithin(piece, size - at)) return at;
    }
  }
  return size;
}

}  // namespace ctxfs::tfrecord
