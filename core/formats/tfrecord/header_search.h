// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/base/result.h"
#include "core/content/read_context.h"
#include "core/io/window_reader.h"

namespace ctxfs::tfrecord {

constexpr uint64_t kHeaderSize = 12;   // u64 length, u32 checksum of it
constexpr uint64_t kChecksumSize = 4;  // after the data
constexpr uint64_t kAround = kHeaderSize + kChecksumSize;

/// TFRecord stores checksums masked (docs/formats/tfrecord.md, section 1),
/// because a CRC-32C of data that has its own CRC-32C inside detects errors
/// badly.
constexpr uint32_t kMaskDelta = 0xA282EAD8;
constexpr uint32_t Mask(uint32_t crc) {
  return (crc >> 15 | crc << 17) + kMaskDelta;
}
constexpr uint32_t Unmask(uint32_t masked) {
  const uint32_t rotated = masked - kMaskDelta;
  return rotated >> 17 | rotated << 15;
}

/// Whether `head` starts with the header of a record: 12 bytes in which the
/// checksum matches the length.
bool StartsWithHeader(Bytes head);

/// Whether a record with this header fits into `room` bytes. StartsWithHeader
/// must hold for `header`.
bool EndsWithin(Bytes header, uint64_t room);

/// Returns the first offset, not below `at`, of a header whose record ends
/// within the file. `size` is the size of the file, and the result if there is
/// none.
Result<uint64_t> FindHeader(WindowReader& reader, uint64_t size, uint64_t at,
                            const ReadContext& context);

}  // namespace ctxfs::tfrecord
