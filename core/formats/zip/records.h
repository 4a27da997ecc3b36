// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/bytes.h"
#include "core/formats/zip/directory.h"

/// Signatures and fixed sizes of ZIP records (docs/formats/zip.md, sections 2
/// to 5).
namespace ctxfs::zip {

constexpr uint32_t kLocalSignature = 0x04034B50;
constexpr uint64_t kLocalSize = 30;
constexpr uint32_t kEntrySignature = 0x02014B50;  // of the central directory
constexpr uint64_t kEntrySize = 46;
/// Offset of the lengths of name, extra field and comment in an entry.
constexpr size_t kEntryLengthsAt = 28;
constexpr uint32_t kEndSignature = 0x06054B50;
constexpr uint64_t kEndSize = 22;
constexpr uint32_t kLocatorSignature = 0x07064B50;
constexpr uint64_t kLocatorSize = 20;
constexpr uint32_t kEnd64Signature = 0x06064B50;
constexpr uint64_t kEnd64Size = 56;

/// Reads the fields that local headers and directory entries have in common, in
/// order: flags, method, time and date, CRC-32, sizes.
Member ReadCommonFields(ByteReader& in);

/// Replaces the sizes and `offset`, where they are all ones, with the values of
/// the zip64 extra field, if it exists. Sets Fault::kZip64 if the field lacks
/// such a value.
void ReadZip64(Bytes extra, Member& member, uint64_t& offset);

}  // namespace ctxfs::zip
